import Glibc
internal import SystemSupport

/// Data of the host: the contents of files under `/proc` and `/sys`, and the limit of open files. A struct of closures,
/// so that tests can replace them.
public struct HostFiles: Sendable {
    /// Returns the contents of a file; nil if it is missing or unreadable.
    public var text: @Sendable (_ path: String) -> String?
    /// The maximum number of open file descriptors of this process; nil if it is unlimited.
    public var openFiles: @Sendable () -> Int?

    /// A host with these contents and limits.
    public init(
        text: @escaping @Sendable (_ path: String) -> String?,
        openFiles: @escaping @Sendable () -> Int?
    ) {
        self.text = text
        self.openFiles = openFiles
    }

    /// The host on which this process runs.
    public static let live = HostFiles(text: readText, openFiles: { Process.openFileLimit })
}

/// The first MiB of a file, longer than any file read here.
private func readText(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    let maximum = 1 << 20
    let bytes = [UInt8](unsafeUninitializedCapacity: maximum) { buffer, count in
        while count < maximum, let base = buffer.baseAddress {
            let got = read(descriptor, base + count, maximum - count)
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { return }
            count += got
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}
