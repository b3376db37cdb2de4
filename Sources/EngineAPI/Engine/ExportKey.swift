internal import FileFormats
internal import FoundationEssentials
internal import Glibc

/// The key by which a later process finds a compiled model in the cache: the contents of the model's files, and the way
/// they were read.
///
/// By contents, not by times and inodes, so that a cache which was filled while an image was built is valid in the
/// container.
package struct ExportKey: Sendable, Hashable {
    /// The cache's folder.
    package let folder: String
    /// 32 hexadecimal digits.
    package let name: String
    private let path: String
    private let circumstances: String

    /// Reads the model's files. Blocks.
    /// - Parameters:
    ///   - path: the model's file, or a SavedModel's folder.
    ///   - folder: the cache's folder.
    ///   - circumstances: other data that affects the compiled model: the engine's version, permitted rewrites.
    /// - Returns: nil if it is not known which files belong to the model, or if one cannot be read.
    package init?(path: String, folder: String, circumstances: String) {
        guard let files = Self.files(of: path) else { return nil }
        var hash = ContentHash()
        hash.add(circumstances)
        var refersToOthers = false
        for file in files {
            hash.add(file.name)
            let isONNX = ModelFormat(file: file.path) == .onnx
            let wasRead = hash.add(file: file.path) { piece in
                if isONNX, Self.namesExternalData(piece) { refersToOthers = true }
            }
            guard wasRead, !refersToOthers else { return nil }
        }
        self.folder = folder
        self.path = path
        self.circumstances = circumstances
        name = hash.text
    }

    /// True if the contents of the files have not changed. Blocks.
    package var isCurrent: Bool { ExportKey(path: path, folder: folder, circumstances: circumstances) == self }

    /// All files of a model; nil for formats with unknown files.
    private static func files(of path: String) -> [(name: String, path: String)]? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        if status.st_mode & S_IFMT == S_IFDIR { return files(in: path) }
        guard status.st_mode & S_IFMT == S_IFREG, let dot = path.lastIndex(of: ".") else { return nil }
        switch ModelFormat(file: path) {
        case .tflite, .onnx, .coreml: return [("", path)]
        case .openvino: return [("xml", path), ("bin", path[..<dot] + ".bin")]
        case .paddle, .tensorflow, nil: return nil
        }
    }

    /// All files of a folder; nil if it contains links to folders, or more than 1000 entries.
    private static func files(in folder: String) -> [(name: String, path: String)]? {
        guard let names = try? FileManager.default.subpathsOfDirectory(atPath: folder), names.count <= 1000 else {
            return nil
        }
        var files: [(name: String, path: String)] = []
        for name in names.sorted() {
            let path = folder + "/" + name
            var status = stat(), linked = stat()
            guard lstat(path, &status) == 0, stat(path, &linked) == 0 else { return nil }
            switch linked.st_mode & S_IFMT {
            case S_IFREG: files.append((name, path))
            case S_IFDIR where status.st_mode & S_IFMT == S_IFDIR: continue
            default: return nil
            }
        }
        return files
    }

    /// True if a piece of an ONNX file contains the key under which a tensor names the file of its values
    /// (`TensorProto.external_data`, onnx.proto): then other files belong to the model.
    private static func namesExternalData(_ piece: UnsafeRawBufferPointer) -> Bool {
        // Field 1 of StringStringEntryProto, eight bytes.
        let key = [0x0A, 0x08] + Array("location".utf8)
        return key.withUnsafeBytes { key in
            var start = 0
            while start + key.count <= piece.count, let base = piece.baseAddress, let wanted = key.baseAddress,
                let found = memchr(base + start, 0x0A, piece.count - key.count + 1 - start)
            {
                if memcmp(found, wanted, key.count) == 0 { return true }
                start = UnsafeRawPointer(found) - base + 1
            }
            return false
        }
    }
}
