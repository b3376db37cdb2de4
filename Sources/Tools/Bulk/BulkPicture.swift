internal import CSystem
internal import Glibc
internal import Settings
internal import SystemSupport

/// A picture of a bulk run: its name, and the location of its bytes.
struct BulkPicture: Sendable {
    enum Place: Sendable {
        case file(String)
        /// A part of an archive.
        case part(of: String, offset: Int, count: Int)
        /// No location: the line of the list is wrong.
        case mistake(String)
    }

    let name: String
    let place: Place

    /// Reads the picture. Blocks.
    /// - Parameter maximum: the maximum number of bytes; a larger picture is refused without being read.
    func read(maximum: Int) throws(CommandError) -> [UInt8] {
        switch place {
        case .file(let path): return try InputFile.read(path, maximum: maximum)
        case .mistake(let sentence): throw CommandError(sentence)
        case .part(let archive, let offset, let count):
            guard count <= maximum else {
                throw CommandError("has \(Units.bytes(count)), more than max_body allows (\(Units.bytes(maximum)))")
            }
            let descriptor = open(archive, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw CommandError("cannot be read: \(SystemError.words(errno))") }
            defer { _ = csys_close(descriptor) }
            var bytes = [UInt8](repeating: 0, count: count)
            var place = 0
            while place < count {
                let read = bytes.withUnsafeMutableBytes { buffer in
                    pread(descriptor, buffer.baseAddress.map { $0 + place }, count - place, off_t(offset + place))
                }
                if read < 0, errno == EINTR { continue }
                guard read > 0 else { throw CommandError("cannot be read: the archive ends before its member does") }
                place += read
            }
            return bytes
        }
    }
}
