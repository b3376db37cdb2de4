internal import FoundationEssentials
internal import Glibc
internal import Inference
internal import SystemSupport

/// The folder of an earlier pull, or what is in its place.
package enum PulledFiles: Sendable {
    case absent
    /// Something that pull did not make, with the reason it is not replaced, as text after its path.
    case foreign(String)
    case pulled(PullRecord)

    /// Looks at a path. Blocks.
    /// - Parameter address: that of the repository or file to pull.
    package init(at path: String, address: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            self = errno == ENOENT ? .absent : .foreign("cannot be read: \(SystemError.words(errno))")
            return
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            self = .foreign(
                status.st_mode & S_IFMT == S_IFLNK
                    ? "is a link, which pull did not make" : "is a file, which pull did not make")
            return
        }
        let file = path + "/" + PulledFolder.record
        guard lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            case .success(let text) = BundleFile.read(file, maximum: BundleFile.largestManifest),
            let record = PullRecord([UInt8](text))
        else {
            self = .foreign("was not made by pull")
            return
        }
        self = record.address == address ? .pulled(record) : .foreign("is from \(record.address)")
    }

    /// The differences of a folder from its record.
    package struct Differences: Sendable {
        package var missing: [String] = [], changed: [String] = [], added: [String] = []

        package var isEmpty: Bool { missing.isEmpty && changed.isEmpty && added.isEmpty }
    }

    /// Compares a folder with its record, each file by its digest. Blocks.
    package static func differences(of path: String, from record: PullRecord) -> Differences {
        var differences = Differences()
        for file in record.files {
            switch digest(path + "/" + file.path) {
            case nil: differences.missing.append(file.path)
            case let (size, sha256)?:
                if size != file.size || sha256 != file.sha256 { differences.changed.append(file.path) }
            }
        }
        let known = Set(record.files.map(\.path))
        differences.added = entries(of: path).filter { !known.contains($0) && $0 != PulledFolder.record }.sorted()
        return differences
    }

    private static func digest(_ path: String) -> (size: Int, sha256: String)? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var hash = SHA256(), size = 0
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count >= 0 else { return nil }
            guard count > 0 else { return (size, SHA256.text(hash.finish())) }
            buffer.withUnsafeBytes { hash.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            size += count
        }
    }

    /// The paths of all files and links in a folder and the folders below it; links are not followed.
    private static func entries(of folder: String, below prefix: String = "", depth: Int = 0) -> [String] {
        guard depth < 16 else { return [prefix] }
        var paths: [String] = []
        for name in (try? FolderNames.read(folder)) ?? [] {
            var status = stat()
            guard lstat(folder + "/" + name, &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR {
                paths += entries(of: folder + "/" + name, below: prefix + name + "/", depth: depth + 1)
            } else {
                paths.append(prefix + name)
            }
            if paths.count > 100_000 { break }
        }
        return paths
    }
}
