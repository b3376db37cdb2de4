package import EngineAPI
internal import FileFormats
package import SystemSupport

/// The digest of a model's file, or of its files: what `calibration.json` belongs to. It does not depend on model.json.
package enum ModelDigest {
    /// "sha256:" and the SHA-256 of the file, as `sha256sum` prints it; of a model of several files (weights in files
    /// of their own, folders) that of the lines that `sha256sum` prints for them, sorted by their names relative to the
    /// model's folder. Nil if a file cannot be read. Blocks: reads them.
    package static func text(of source: ModelSource) -> String? {
        let files = files(of: source.path)
        var lines: [String] = []
        for file in files {
            var hash = SHA256()
            guard add(file.path, to: &hash) else { return nil }
            lines.append("\(SHA256.text(hash.finish()))  \(file.name)\n")
        }
        guard let first = lines.first else { return nil }
        let digest =
            lines.count == 1 ? String(first.prefix(64)) : SHA256.text(SHA256.digest(Array(lines.joined().utf8)))
        return "sha256:" + digest
    }

    /// Adds the contents of a file to a digest; false if it cannot be read. Blocks.
    package static func add(_ path: String, to hash: inout SHA256) -> Bool {
        guard let file = try? OpenFile(path) else { return false }
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        while let count = try? buffer.withUnsafeMutableBytes({ try file.next($0) }) {
            guard count > 0 else { return true }
            buffer.withUnsafeBytes { hash.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
        return false
    }

    private static func files(of path: String) -> [(name: String, path: String)] {
        let isFolder = (try? FolderReader.disk.kind(path)) == .folder
        let base = isFolder ? FilePath.start(inside: path) : FilePath.folder(of: path)
        var paths: [String]
        if isFolder {
            // The folder of a SavedModel may have the files of a bundle too.
            let roots =
                ModelBundle.isSavedModel(path) ? ["saved_model.pb", "variables"].map { base + $0 } : [path]
            paths = roots.flatMap { BundleWalk($0).entries.map(\.path) }
        } else {
            let stem = String(path[..<(path.lastIndex(of: ".") ?? path.endIndex)])
            let weights = (ModelFormat(file: path)?.weightEndings ?? []).map { stem + $0 }
            paths = [path] + weights.filter { (try? FolderReader.disk.kind($0)) == .file }
            paths += ModelBundle.externalFiles(of: path).filter { !paths.contains($0) }
        }
        paths.removeAll { $0.dropFirst(base.count).split(separator: "/").contains { $0.hasPrefix(".") } }
        return paths.map { (String($0.dropFirst(base.count)), $0) }
            .sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
    }
}
