internal import CSystem
internal import Glibc
internal import Settings
internal import SystemSupport

/// A picture file named on the command line: a regular file, a pipe, or "-" for standard input.
///
/// Foundation's readers use the file's size, which is 0 for a pipe, and have no limit.
enum InputFile {
    /// Reads to the end. Blocks.
    /// - Parameter maximum: the maximum number of bytes; a larger file is refused without being read completely.
    /// - Throws: a sentence without the file's name.
    static func read(_ path: String, maximum: Int) throws(CommandError) -> [UInt8] {
        let descriptor = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw CommandError(
                "cannot be read: \(path == "-" ? "standard input is closed" : UnreadableFile.reason(path))")
        }
        defer { _ = csys_close(descriptor) }
        var status = stat()
        if fstat(descriptor, &status) == 0 {
            if status.st_mode & S_IFMT == S_IFDIR { throw CommandError("cannot be read: it is a folder, not a file") }
            if status.st_mode & S_IFMT == S_IFREG, status.st_size > maximum {
                throw tooLarge(Units.bytes(Int(status.st_size)), maximum)
            }
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            let count = csys_read(descriptor, &buffer, buffer.count)
            guard count >= 0 else {
                throw CommandError("cannot be read: \(SystemError.words(Int32(clamping: -count)))")
            }
            guard count > 0 else { return bytes }
            guard bytes.count + count <= maximum else { throw tooLarge("more than \(Units.bytes(maximum))", maximum) }
            bytes += buffer[..<count]
        }
    }

    private static func tooLarge(_ size: String, _ maximum: Int) -> CommandError {
        CommandError("has \(size), more than max_body allows (\(Units.bytes(maximum)))")
    }
}
