internal import Glibc
package import Inference
internal import SystemSupport

/// The folder with the pictures that tasks name as `/data/local-files/?d=PATH` (`labelstudio_files`).
package struct LocalFiles: Sendable {
    /// The folder; empty if no files are read.
    let folder: String
    /// The maximum size of a file in bytes.
    let maximum: Int

    package init(folder: String, maximum: Int) {
        self.folder = folder
        self.maximum = maximum
    }

    /// Of a file that does not exist, and of one outside of the folder: nothing is revealed of those.
    private static let absence = failure(
        "there is no such file in the folder that labelstudio_files names (links that lead out of it are not followed)")

    private static func failure(_ reason: String) -> InferenceError { .invalidInput(name: "image", reason: reason) }

    /// Reads a regular file in the folder. Blocks, but does not wait for the other end of a pipe.
    /// - Parameters:
    ///   - name: the path in the folder. Links and `..` are resolved; the file must lie in the folder.
    ///   - limit: the number of bytes to read; nil for all.
    package func read(_ name: String, limit: Int? = nil) throws(InferenceError) -> [UInt8] {
        guard !folder.isEmpty else {
            throw Self.failure(
                "files are not read: set labelstudio_files to the folder that LOCAL_FILES_DOCUMENT_ROOT of Label Studio names"
            )
        }
        guard let root = FilePath.resolved(folder) else {
            throw Self.failure("the folder that labelstudio_files names cannot be read")
        }
        guard !name.utf8.contains(0), let path = FilePath.resolved(FilePath.start(inside: root) + name),
            path.hasPrefix(FilePath.start(inside: root))
        else { throw Self.absence }
        var status = stat()
        // Checked before opening, because opening a device may have side effects, and again afterwards, because the
        // file may have been replaced.
        guard lstat(path, &status) == 0 else { throw Self.absence }
        try check(status)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw Self.absence }
        defer { close(descriptor) }
        guard fstat(descriptor, &status) == 0 else { throw Self.absence }
        try check(status)
        // A folder on the way may have been replaced by a link in the meantime.
        guard let opened = FilePath.resolved("/proc/self/fd/\(descriptor)"),
            opened.hasPrefix(FilePath.start(inside: root))
        else { throw Self.absence }
        return try Self.bytes(of: descriptor, count: min(Int(status.st_size), limit ?? maximum))
    }

    /// Refuses other files than regular ones, and files that are too large.
    private func check(_ status: stat) throws(InferenceError) {
        guard status.st_mode & S_IFMT == S_IFREG else { throw Self.failure("it is not a regular file") }
        guard Int(status.st_size) <= maximum else {
            throw Self.failure("the file has \(status.st_size) bytes: the limit is \(maximum) (max_body)")
        }
    }

    private static func bytes(of descriptor: Int32, count: Int) throws(InferenceError) -> [UInt8] {
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: max(0, count)) { buffer, filled in
            while filled < count {
                let got = pread(descriptor, buffer.baseAddress.map { $0 + filled }, count - filled, filled)
                if got < 0, errno == EINTR { continue }
                if got < 0 { failed = true }
                // A file that has become shorter is a truncated picture.
                guard got > 0 else { return }
                filled += got
            }
        }
        guard !failed else { throw failure("the file cannot be read") }
        return bytes
    }
}
