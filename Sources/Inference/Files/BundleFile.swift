internal import FoundationEssentials
internal import Glibc

/// Reads the small files of a bundle; the engine reads large ones.
package enum BundleFile {
    /// The largest `model.json`, and the largest file of labels, in bytes.
    static let largestManifest = 16 << 20, largestLabels = 64 << 20

    /// The contents of a file, or why there are none. Blocks.
    /// - Parameter most: bytes of the largest file that is read.
    static func read(_ path: String, most: Int) -> Result<Data, Problem> {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let failure = FileFailure(code: errno)
            return .failure(
                Problem(reason: failure.isAbsence ? "is missing" : "cannot be read: \(failure.reason)"))
        }
        guard status.st_size <= most else {
            return .failure(Problem(reason: "has \(status.st_size) bytes: expected at most \(most)"))
        }
        // Nothing but regular files is read: a pipe would never end.
        if let data = FileManager.default.contents(atPath: path) { return .success(data) }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor < 0 else {
            close(descriptor)
            return .failure(Problem(reason: "cannot be read: expected a regular file"))
        }
        return .failure(Problem(reason: "cannot be read: \(FileFailure(code: errno).reason)"))
    }

    /// Why a file cannot be used: what follows its name in a sentence.
    package struct Problem: Error {
        package let reason: String
    }
}
