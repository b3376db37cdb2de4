internal import EngineAPI
internal import FileFormats
internal import FoundationEssentials
internal import Glibc

/// Names under which the engine accepts model files: it uses the extension, in lower case, and knows one for each
/// format.
enum EngineName {
    /// Calls `body` with a path of the file that the engine accepts: its own, or that of a link, which is removed
    /// afterwards.
    static func with<R>(_ path: String, _ body: (String) throws(EngineError) -> R) throws(EngineError) -> R {
        // The engine detects ONNX by the contents; a folder has no extension.
        guard let format = ModelFormat(file: path), format != .onnx, let ending = format.fileEndings.first,
            !path.hasSuffix(ending), !isFolder(path), let dot = path.lastIndex(of: ".")
        else { return try body(path) }
        return try TemporaryFolder.with { (folder) throws(EngineError) in
            do {
                let files = FileManager.default, current = files.currentDirectoryPath
                let target = path.hasPrefix("/") ? path : current + "/" + path
                try files.createSymbolicLink(atPath: folder + "/model" + ending, withDestinationPath: target)
                for ending in format.weightEndings {
                    // Next to model.XML may be model.bin or model.BIN.
                    for name in [ending, ending.uppercased()] {
                        let weights = String(path[..<dot]) + name, link = folder + "/model" + ending
                        guard files.fileExists(atPath: weights) else { continue }
                        let target = weights.hasPrefix("/") ? weights : current + "/" + weights
                        try files.createSymbolicLink(atPath: link, withDestinationPath: target)
                        break
                    }
                }
            } catch {
                throw EngineError(
                    kind: .failure, operation: "make a link with an ending that the engine knows", detail: "\(error)")
            }
            return try body(folder + "/model" + ending)
        }
    }

    private static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
