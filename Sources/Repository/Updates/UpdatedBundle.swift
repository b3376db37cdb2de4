internal import Bundles
internal import EngineAPI
internal import Glibc
internal import SystemSupport

/// The files of a version created by an update: the new model file, and the other files of the source bundle.
struct UpdatedBundle {
    private let source: String
    /// The model file within the bundle.
    private let file: String
    private let model: [UInt8]
    /// The other files and their folders; each folder comes after the one that contains it.
    private var others: [String] = [], folders: [String] = []
    /// The bytes of all files.
    private(set) var bytes: Int

    /// The maximum number of files and folders of a bundle, as in ``BundleWalk``, and the maximum depth of folders.
    private static let maximum = BundleWalk.maximum, deepest = 8

    /// Lists the files of the source bundle. Blocks.
    /// - Parameters:
    ///   - model: the new bytes of the model file.
    ///   - path: the model file that was updated.
    ///   - source: the bundle's folder, or the bare model file.
    init(_ model: [UInt8], replacing path: String, in source: String) throws(FileFailure) {
        self.source = source
        self.model = model
        bytes = model.count
        guard path.hasPrefix(source + "/") else {
            file = FilePath.name(of: path) ?? path
            return
        }
        file = String(path.dropFirst(source.count + 1))
        try add("", depth: 0)
    }

    /// Adds the entries of a folder. Skips hidden entries, such as the `..data` of a ConfigMap: other links lead to the
    /// files in them.
    private mutating func add(_ folder: String, depth: Int) throws(FileFailure) {
        guard depth <= Self.deepest else { throw FileFailure(code: ELOOP) }
        let names = try FolderReader.disk.names(source + "/" + folder).sorted()
        for name in names where !name.hasPrefix(".") {
            guard others.count + folders.count < Self.maximum else { throw FileFailure(code: E2BIG) }
            let entry = folder + name
            switch try FolderReader.disk.kind(source + "/" + entry) {
            case .missing: continue
            case .folder:
                folders.append(entry)
                try add(entry + "/", depth: depth + 1)
            // A calibration belongs to the model file that is replaced.
            case .file where entry != file && entry != CalibrationFile.name:
                bytes += try OpenFile(source + "/" + entry).size
                others.append(entry)
            case .file: continue
            }
        }
    }

    /// Writes the files into a new folder, and returns when they are on disk. Blocks.
    func write(to folder: String) throws(FileFailure) {
        try DurableFiles.create(folder: folder)
        for inner in folders { try DurableFiles.create(folder: folder + "/" + inner) }
        for other in others { try DurableFiles.copy(source + "/" + other, to: folder + "/" + other) }
        try DurableFiles.write(model, to: folder + "/" + file)
        for inner in folders.reversed() { try DurableFiles.sync(folder: folder + "/" + inner) }
        try DurableFiles.sync(folder: folder)
    }

    /// The total size in bytes of the files in a folder and its subfolders. Blocks.
    static func bytes(in folder: String) -> Int {
        BundleWalk(folder).entries.reduce(0) { sum, entry in
            entry.status.st_mode & S_IFMT == S_IFREG ? sum + Int(entry.status.st_size) : sum
        }
    }
}
