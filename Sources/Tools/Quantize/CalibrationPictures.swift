internal import FoundationEssentials
internal import ImagePipeline
package import SystemSupport

/// The pictures of a folder, with the classes that its subfolders name.
package struct CalibrationPictures: Sendable {
    package struct Picture: Sendable, Hashable {
        package let path: String
        /// The top subfolder that contains the picture, as in collections with one folder per class; nil for a picture
        /// directly in the folder.
        package let folder: String?

        package init(path: String, folder: String?) {
            self.path = path
            self.folder = folder
        }
    }

    /// The pictures by purpose. Each picture has one purpose.
    package struct Parts: Sendable {
        /// Pictures for the quantizer, which measures the range of each layer's values.
        package var calibration: [Picture] = []
        /// Pictures that decide which layers stay in float.
        package var validation: [Picture] = []
        /// Pictures for the comparison at the end, not used before.
        package var comparison: [Picture] = []
    }

    package let pictures: [Picture]

    /// The minimum number of pictures for three parts.
    package static let minimum = 8
    /// The limits of the search: files and folders, and depth.
    private static let maximumEntries = 200_000, deepest = 8

    package init(_ pictures: [Picture]) { self.pictures = pictures }

    /// Finds the pictures in a folder and its subfolders by their names. Blocks.
    package init(folder: String) throws(CommandError) {
        var found: [Picture] = []
        var open = [(path: folder, top: String?.none, depth: 0)]
        var seen = 0
        while let (path, top, depth) = open.popLast() {
            guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
                throw CommandError("\(path) cannot be read: expected a folder of pictures")
            }
            for name in names.sorted() where !name.hasPrefix(".") {
                seen += 1
                guard seen <= Self.maximumEntries else {
                    throw CommandError("\(folder) has more than \(Self.maximumEntries) files: give a folder with fewer")
                }
                let full = path + "/" + name
                var isFolder = false
                guard FileManager.default.fileExists(atPath: full, isDirectory: &isFolder) else { continue }
                if isFolder {
                    if depth < Self.deepest { open.append((full, top ?? name, depth + 1)) }
                } else if ImageFormat.isPicture(named: name) {
                    found.append(Picture(path: full, folder: top))
                }
            }
        }
        pictures = found.sorted { $0.path < $1.path }
        guard pictures.count >= Self.minimum else {
            throw CommandError(
                "\(folder) has \(pictures.count) pictures (\(ImageFormat.allEndings.joined(separator: ", "))): at least \(Self.minimum) are "
                    + "needed, and a few hundred make a good calibration")
        }
    }

    /// At most `maximum` pictures, taken evenly from the whole list so that every folder has its share: half to
    /// calibrate, a quarter to validate, a quarter to compare. Without validation, its quarter is used to calibrate
    /// too.
    package func parts(maximum: Int, validates: Bool) -> Parts {
        let count = min(pictures.count, max(maximum, Self.minimum))
        var parts = Parts()
        for index in 0..<count {
            // Rounded down; the indices are strictly increasing because at least `count` pictures exist.
            let picture = pictures[index * pictures.count / count]
            switch index % 4 {
            case 1 where validates: parts.validation.append(picture)
            case 3: parts.comparison.append(picture)
            default: parts.calibration.append(picture)
            }
        }
        return parts
    }
}
