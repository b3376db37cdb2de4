internal import Glibc

/// A regular file that is open for reading, closed with the last reference.
final class OpenFile {
    private let descriptor: Int32
    let size: Int

    /// - Throws: where it cannot be opened, or is not a regular file.
    init(_ path: String) throws(FileFailure) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw FileFailure(code: errno) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw FileFailure(code: EINVAL)
        }
        self.descriptor = descriptor
        size = Int(status.st_size)
    }

    deinit { close(descriptor) }

    /// The bytes of a range; fewer where the file has become shorter or cannot be read.
    func bytes(_ range: Range<Int>) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            while count < range.count {
                // Within the buffer: `count` is less than its size.
                let got = pread(
                    descriptor, UnsafeMutableRawPointer(buffer.baseAddress.map { $0 + count }), range.count - count,
                    range.lowerBound + count)
                if got < 0, errno == EINTR { continue }
                guard got > 0 else { return }
                count += got
            }
        }
    }
}
