import Glibc
internal import SystemSupport

/// Data of the host: the texts of files under `/proc` and `/sys`, and the limit of open files. A struct of
/// closures, so that tests give texts instead.
public struct HostFiles: Sendable {
    /// The text of a file; nil if there is none, or it cannot be read.
    public var text: @Sendable (_ path: String) -> String?
    /// The number of file descriptors that this process may have open; nil if there is no bound.
    public var openFiles: @Sendable () -> Int?

    /// A host of these texts and numbers.
    public init(
        text: @escaping @Sendable (_ path: String) -> String?,
        openFiles: @escaping @Sendable () -> Int?
    ) {
        self.text = text
        self.openFiles = openFiles
    }

    /// The host that this process runs on.
    public static let live = HostFiles(text: readText, openFiles: { Process.openFileLimit })
}

/// The first MiB of a file: longer than any of those that are read here.
private func readText(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    let most = 1 << 20
    let bytes = [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
        while count < most, let base = buffer.baseAddress {
            let got = read(descriptor, base + count, most - count)
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { return }
            count += got
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}
