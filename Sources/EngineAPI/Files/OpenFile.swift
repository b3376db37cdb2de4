internal import Glibc

/// A regular file that is open for reading, closed with the last reference.
///
/// Every file of a model is opened here: a pipe would never end, and opening a device may have side effects.
package final class OpenFile {
    private let descriptor: Int32
    package let size: Int
    private var position = 0

    /// Opens a file. Blocks.
    /// - Throws: if it cannot be opened, or is not a regular file.
    package init(_ path: String) throws(FileFailure) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileFailure(code: errno) }
        // Checked before opening, and again afterwards, because it may have been replaced.
        try Self.refuseSpecial(status)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw FileFailure(code: errno) }
        do throws(FileFailure) {
            guard fstat(descriptor, &status) == 0 else { throw FileFailure(code: errno) }
            try Self.refuseSpecial(status)
        } catch {
            close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        size = max(0, Int(status.st_size))
    }

    deinit { close(descriptor) }

    private static func refuseSpecial(_ status: stat) throws(FileFailure) {
        if let kind = SpecialFile(status) { throw FileFailure(code: EINVAL, special: kind) }
    }

    /// The bytes of a range; fewer if the file has become shorter or cannot be read.
    package func bytes(_ range: Range<Int>) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            count = read(UnsafeMutableRawBufferPointer(buffer), at: range.lowerBound)
        }
    }

    /// Reads at an offset until the buffer is full, the file ends, or an error occurs; returns the number of bytes.
    private func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        var count = 0
        while count < buffer.count {
            // The address is within the buffer, because `count` is less than its size.
            let got = pread(descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count, offset + count)
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { break }
            count += got
        }
        return count
    }

    /// Reads on from the end of the previous call; returns 0 at the end of the file.
    package func next(_ buffer: UnsafeMutableRawBufferPointer) throws(FileFailure) -> Int {
        while true {
            let got = pread(descriptor, buffer.baseAddress, buffer.count, position)
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw FileFailure(code: errno) }
            position += got
            return got
        }
    }
}
