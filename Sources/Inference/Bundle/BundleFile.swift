internal import FoundationEssentials
internal import Glibc

/// Reads the small files of a bundle: what is large is the engine's.
enum BundleFile {
    /// The largest `model.json`, and the largest file of labels, in bytes.
    static let largestManifest = 16 << 20, largestLabels = 64 << 20

    /// The contents of a file, or why there are none. Blocks.
    /// - Parameter most: bytes of the largest file that is read: one that is larger is none of ours.
    static func read(_ path: String, most: Int) -> Result<Data, Problem> {
        var status = stat()
        guard stat(path, &status) == 0 else {
            return .failure(Problem(reason: errno == ENOENT ? "is missing" : "cannot be read by this user"))
        }
        guard status.st_size <= most else {
            return .failure(Problem(reason: "has \(status.st_size) bytes: expected at most \(most)"))
        }
        // Nothing but regular files is read: a pipe would never end.
        guard let data = FileManager.default.contents(atPath: path) else {
            return .failure(Problem(reason: "cannot be read: its mode, or what it is, does not let this user"))
        }
        return .success(data)
    }

    /// Why a file cannot be used: what follows its name in a sentence.
    struct Problem: Error {
        let reason: String
    }
}
