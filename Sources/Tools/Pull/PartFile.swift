internal import CSystem
internal import Glibc
internal import SystemSupport

/// A file that is being received, in the work folder: its bytes on disk and their digests. Bytes of an earlier pull are
/// read first.
final class PartFile {
    /// The size of the whole file in bytes.
    let size: Int
    /// The number of bytes on disk.
    private(set) var count = 0
    /// True if bytes of an earlier pull are used.
    private(set) var isContinued = false
    private let stated: StatedDigest?
    private var digest: FileDigest
    private let descriptor: Int32

    /// Opens or creates the file. Blocks, for as long as its bytes are read.
    /// - Parameter folder: the descriptor of the work folder.
    /// - Throws: the reason, as text after the file's name.
    init(folder: Int32, name: String, size: Int, stated: StatedDigest?) throws(CommandError) {
        (self.size, self.stated) = (size, stated)
        digest = FileDigest(stated: stated, size: size)
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        var opened = openat(folder, name, flags, 0o666)
        // Links, pipes and files with a second name are another's: they are removed, and not written to.
        var status = stat()
        let isOwn =
            opened >= 0 && fstat(opened, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_nlink == 1
        if !isOwn {
            if opened >= 0 { _ = csys_close(opened) }
            guard opened >= 0 || errno == ELOOP || errno == ENXIO, unlinkat(folder, name, 0) == 0 else {
                throw Self.unwritable(errno)
            }
            opened = openat(folder, name, flags | O_EXCL, 0o666)
        }
        guard opened >= 0 else { throw Self.unwritable(errno) }
        descriptor = opened
        do throws(CommandError) {
            try readExisting()
        } catch {
            _ = csys_close(opened)
            throw error
        }
    }

    deinit { _ = csys_close(descriptor) }

    private func readExisting() throws(CommandError) {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let got = csys_read(descriptor, &buffer, buffer.count)
            guard got >= 0 else { throw CommandError("cannot be read: \(SystemError.words(Int32(clamping: -got)))") }
            guard got > 0 else { break }
            guard count + got <= size else { return try restart() }
            buffer.withUnsafeBytes { digest.update(UnsafeRawBufferPointer(rebasing: $0[..<got])) }
            count += got
        }
        isContinued = count > 0
    }

    /// Drops all bytes.
    func restart() throws(CommandError) {
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else { throw Self.unwritable(errno) }
        digest = FileDigest(stated: stated, size: size)
        (count, isContinued) = (0, false)
    }

    /// Adds bytes.
    /// - Throws: the reason, as text after the file's name: more bytes than stated, or a failed write.
    func append(_ bytes: UnsafeRawBufferPointer) throws(CommandError) {
        guard bytes.count <= size - count else {
            throw CommandError("has more than the \(size) bytes that are stated: refused")
        }
        var rest = bytes
        while !rest.isEmpty {
            let written = csys_write(descriptor, rest.baseAddress, rest.count)
            guard written > 0 else { throw Self.unwritable(Int32(clamping: -written)) }
            digest.update(UnsafeRawBufferPointer(rebasing: rest[..<written]))
            count += written
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
        }
    }

    /// The digests of the whole file, when it is on disk for good. Blocks.
    func finish() throws(CommandError) -> (sha256: String, differing: String?) {
        let code = DiskSync.file(descriptor)
        guard code == 0 else { throw Self.unwritable(code) }
        return digest.finish()
    }

    private static func unwritable(_ code: Int32) -> CommandError {
        CommandError("cannot be written: \(SystemError.words(code))")
    }
}
