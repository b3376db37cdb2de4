internal import FoundationEssentials
internal import Glibc
internal import SystemSupport

extension Model {
    /// The SHA-256 of the model's files and their names: it changes with the model, its labels or its model.json. For a
    /// pipeline, the files of its models are included. Nil if a file cannot be read. Blocks.
    package var filesDigest: String? {
        guard let pipeline else { return ownDigest }
        var hash = SHA256()
        for digest in [ownDigest] + pipeline.models.map(\.ownDigest) {
            guard let digest else { return nil }
            Array(digest.utf8).withUnsafeBytes { hash.update($0) }
        }
        return SHA256.text(hash.finish())
    }

    private var ownDigest: String? { Self.filesDigest(of: path) }

    /// The SHA-256 of the files of the model at a path, loaded or not; nil if a file cannot be read. Blocks.
    package static func filesDigest(of path: String) -> String? {
        let folder = FilePath.parent(of: path), name = String(path.dropFirst(FilePath.folder(of: path).count))
        let stem = name.lastIndex(of: ".").map { String(name[..<$0]) } ?? name
        // Files next to a bare file with the same stem are its weights or labels (model.xml, model.bin). Weights of an
        // ONNX file have any name.
        var status = stat()
        let isFile = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        let names = isFile ? (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] : []
        let siblings = names.filter { $0.hasPrefix(stem + ".") && $0 != name }.sorted().map { folder + "/" + $0 }
        let weights = (isFile ? ModelBundle.externalFiles(of: path) : []).filter {
            !siblings.contains($0) && stat($0, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        }
        var hash = SHA256()
        for (isOptional, root) in [(false, path)] + (siblings + weights).map({ (true, $0) }) {
            for entry in BundleWalk(root).entries where entry.status.st_mode & S_IFMT == S_IFREG {
                let relative = entry.path.dropFirst(isOptional ? folder.count : path.count)
                Array(relative.utf8 + [0]).withUnsafeBytes { hash.update($0) }
                guard ModelDigest.add(entry.path, to: &hash) else { return nil }
            }
        }
        return SHA256.text(hash.finish())
    }

    /// The SHA-256 of the files that the model was loaded from; nil if they have changed or cannot be read. Blocks.
    package var loadedFilesDigest: String? {
        guard stamp.isCurrent, let digest = filesDigest, stamp.isCurrent else { return nil }
        return digest
    }
}
