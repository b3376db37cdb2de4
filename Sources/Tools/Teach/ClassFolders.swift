internal import FoundationEssentials
internal import Glibc
internal import ImagePipeline
internal import Inference
internal import SystemSupport
internal import Teaching

/// The pictures of a folder with a subfolder for each class.
struct ClassFolders: Sendable {
    struct Picture: Sendable {
        /// The index in `labels`.
        let label: Int
        let place: BulkPicture
    }

    /// The names of the subfolders, sorted by their bytes.
    let labels: [String]
    /// The pictures by class, sorted by path.
    let pictures: [Picture]
    /// The number of pictures outside the subfolders, without a class.
    let unclassifiedPictures: Int

    /// The maximum number of pictures of a folder.
    private static let maximum = 1_000_000

    /// Reads a folder of normal pictures, with its subfolders. Blocks.
    init(normal folder: String) throws(CommandError) {
        var status = stat()
        guard stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw CommandError("\(folder) is not a folder: expected one with normal pictures")
        }
        labels = [TaughtClassifier.normalLabel]
        pictures = try PictureSources.all(in: folder).map { Picture(label: 0, place: $0) }
        unclassifiedPictures = 0
        guard pictures.count <= Self.maximum else {
            throw CommandError("\(folder) has more than \(Self.maximum) pictures")
        }
    }

    /// Reads a folder of classes. Blocks.
    init(_ folder: String) throws(CommandError) {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasPrefix(".") }
        } catch {
            throw CommandError("\(folder) cannot be read: \(UnreadableFile.reason(folder))")
        }
        let base = FilePath.start(inside: folder)
        var labels: [String] = [], unclassifiedPictures = 0
        for name in names {
            var status = stat()
            guard stat(base + name, &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR {
                labels.append(name)
            } else if ImageFormat.isPicture(named: name) {
                unclassifiedPictures += 1
            }
        }
        guard !labels.isEmpty else {
            throw CommandError(
                "\(folder) has no folders: expected one for each class, with its pictures (\(base)bolt/1.jpg)")
        }
        labels.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        var pictures: [Picture] = []
        for (index, label) in labels.enumerated() {
            do throws(TeachingError) {
                try TaughtNames.check(label: label)
            } catch {
                throw CommandError("\(base)\(label): \(error.message)")
            }
            pictures += try PictureSources.all(in: base + label).map { Picture(label: index, place: $0) }
            guard pictures.count <= Self.maximum else {
                throw CommandError("\(folder) has more than \(Self.maximum) pictures")
            }
        }
        self.labels = labels
        self.pictures = pictures
        self.unclassifiedPictures = unclassifiedPictures
    }
}
