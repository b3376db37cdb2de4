internal import CSystem
internal import FoundationEssentials
internal import Glibc
internal import InferenceService
internal import SystemSupport

/// The file of answers of a bulk run, one a line in the order of the list, which says how far the run has come.
///
/// A line is there whole or not at all: what a kill has left of a last line is cut off when the file is opened again.
final class AnswerFile {
    private let path: String
    private let descriptor: Int32
    /// Answers that the file already had.
    let count: Int
    /// The picture of the last of them.
    let lastFile: String?

    private struct Answer: Decodable {
        let file: String
    }

    /// Opens the file, or makes it. Reads it: blocks.
    /// - Throws: a sentence with the file's name.
    init(_ path: String) throws(StartupError) {
        self.path = path
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw StartupError("\(path) cannot be opened: \(SystemError.words(errno))") }
        do throws(StartupError) {
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                throw StartupError("\(path) is being written by another process")
            }
            (count, lastFile) = try Self.takeUp(descriptor, path)
        } catch {
            _ = csys_close(descriptor)
            throw error
        }
        self.descriptor = descriptor
    }

    deinit {
        _ = csys_close(descriptor)
    }

    /// Counts the lines, cuts off what is behind the last, and stands at the end.
    private static func takeUp(_ descriptor: Int32, _ path: String) throws(StartupError) -> (Int, String?) {
        var lines = 0
        var position = 0, end = 0
        var line: [UInt8] = [], last: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            let count = csys_read(descriptor, &buffer, buffer.count)
            guard count >= 0 else {
                throw StartupError("\(path) cannot be read: \(SystemError.words(Int32(clamping: -count)))")
            }
            guard count > 0 else { break }
            var start = 0
            while let newline = buffer[start..<count].firstIndex(of: UInt8(ascii: "\n")) {
                last = line + buffer[start..<newline]
                line = []
                lines += 1
                start = newline + 1
                end = position + start
            }
            line += buffer[start..<count]
            position += count
        }
        guard ftruncate(descriptor, off_t(end)) == 0, lseek(descriptor, off_t(end), SEEK_SET) >= 0 else {
            throw StartupError("\(path) cannot be continued: \(SystemError.words(errno)); expected a plain file")
        }
        guard lines > 0 else { return (0, nil) }
        guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(last)) else {
            throw StartupError("\(path) is not a file of answers: its line \(lines) is not an answer with \"file\"")
        }
        return (lines, answer.file)
    }

    /// Appends a line.
    func append(_ line: String) throws(StartupError) {
        let bytes = Array((line + "\n").utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress.map { $0 + sent }, bytes.count - sent)
            }
            if count > 0 {
                sent += count
            } else if errno != EINTR {
                throw StartupError("\(path) cannot be written: \(SystemError.words(errno))")
            }
        }
    }
}
