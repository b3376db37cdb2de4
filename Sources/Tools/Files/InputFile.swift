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
                "cannot be read: \(path == "-" ? "standard input is closed" : UnreadableFile.reason(path) + hint(path))"
            )
        }
        defer { _ = csys_close(descriptor) }
        var status = stat()
        if fstat(descriptor, &status) == 0 {
            if status.st_mode & S_IFMT == S_IFDIR {
                throw CommandError(
                    "cannot be read: it is a folder, not a file; name the files in it, or take all pictures in it with --jsonl"
                )
            }
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

    /// The name in the same folder that is nearest to that of a missing file; empty if none is near.
    private static func hint(_ path: String) -> String {
        guard access(path, F_OK) != 0, errno == ENOENT, let name = FilePath.name(of: path) else { return "" }
        let folder = FilePath.folder(of: path)
        let names = (try? FolderNames.read(folder.isEmpty ? "." : folder)) ?? []
        return Spelling.hint(for: name, among: names)
    }

    private static func tooLarge(_ size: String, _ maximum: Int) -> CommandError {
        CommandError("has \(size), more than max_body allows (\(Units.bytes(maximum)))")
    }
}
