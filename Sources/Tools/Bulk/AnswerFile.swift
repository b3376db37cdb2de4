internal import CSystem
internal import Glibc
internal import JSON
internal import SystemSupport

/// The file of answers of a bulk run, one per line, which shows what was answered before.
///
/// Each line is complete: a partial last line, left by a kill, is cut off when the file is opened again. A picture with
/// changed bytes gets a second line; `compact` keeps only the last line of each name.
final class AnswerFile {
    let path: String
    private let descriptor: Int32
    /// The digests of the answered pictures by name; nil for a picture that could not be read.
    private(set) var answered: [Name: Digest?]
    /// False if a name has more than one line.
    private var isCompact: Bool

    /// A name, stored as its digest, because millions of paths would take more memory.
    struct Name: Hashable, Sendable {
        private let first: UInt64, second: UInt64

        init(_ name: String) {
            var name = name
            let digest = name.withUTF8 { SHA256.digest(UnsafeRawBufferPointer($0)) }
            (first, second) = (Self.word(digest[0..<8]), Self.word(digest[8..<16]))
        }

        private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    }

    /// The first half of a picture's digest.
    struct Digest: Hashable, Sendable {
        private let first: UInt64, second: UInt64

        /// Parses a digest. Fails for other text.
        /// - Parameter text: "sha256:" and hexadecimal digits.
        init?(_ text: String) {
            let digits = text.utf8.dropFirst("sha256:".utf8.count)
            guard text.hasPrefix("sha256:"), digits.count == 64,
                let first = UInt64(String(decoding: digits.prefix(16), as: UTF8.self), radix: 16),
                let second = UInt64(String(decoding: digits.dropFirst(16).prefix(16), as: UTF8.self), radix: 16)
            else { return nil }
            (self.first, self.second) = (first, second)
        }
    }

    /// The parsed members of a line.
    struct Line {
        var file: String?
        var digest: String?
        var run: String?
        var model: String?
        var embedding: [Float]?
    }

    private static let longestLine = 256 << 20

    /// Opens or creates the file, and reads it. Blocks.
    /// - Parameter run: identifies the model and settings. If a line has another value, the file is refused and not
    ///   changed.
    /// - Throws: a sentence with the file's name.
    init(_ path: String, run: String) throws(CommandError) {
        self.path = path
        let descriptor = try Self.opened(path)
        do throws(CommandError) {
            let found = try Self.takeUp(descriptor, path, run: run)
            (answered, isCompact) = (found.answered, found.isCompact)
        } catch {
            _ = csys_close(descriptor)
            throw error
        }
        self.descriptor = descriptor
    }

    deinit {
        _ = csys_close(descriptor)
    }

    /// Opens and locks the file that the path names now, because another run may just have replaced it.
    private static func opened(_ path: String) throws(CommandError) -> Int32 {
        while true {
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
            guard descriptor >= 0 else { throw CommandError("\(path) cannot be opened: \(SystemError.words(errno))") }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                _ = csys_close(descriptor)
                throw CommandError("\(path) is being written by another process")
            }
            var held = stat(), named = stat()
            if fstat(descriptor, &held) == 0, stat(path, &named) == 0, held.st_ino == named.st_ino,
                held.st_dev == named.st_dev
            {
                return descriptor
            }
            _ = csys_close(descriptor)
        }
    }

    /// Reads all lines, cuts off a partial line at the end, and sets the position to the end.
    private static func takeUp(
        _ descriptor: Int32, _ path: String, run: String
    ) throws(CommandError) -> (answered: [Name: Digest?], isCompact: Bool) {
        var answered: [Name: Digest?] = [:]
        var isCompact = true, number = 0
        let (end, rest) = try lines(descriptor, path) { (bytes) throws(CommandError) in
            number += 1
            let line = parse(bytes)
            guard let file = line?.file, let line else {
                throw CommandError(
                    "\(path) is not a file of answers: its line \(number) is not an answer with \"file\"",
                    isConfiguration: true)
            }
            guard let theirs = line.run else {
                throw CommandError(
                    "\(path): line \(number) does not say which model and settings answered (\"run\"): expected a file that --resume has written",
                    isConfiguration: true)
            }
            guard theirs == run else {
                throw CommandError(
                    "\(path) has answers of another model or of other settings (run \(theirs)\(line.model.map { ", model \"\($0)\"" } ?? ""); this is run "
                        + "\(run)): choose another file, or remove it to answer all pictures again",
                    isConfiguration: true)
            }
            let digest = line.digest.flatMap { Digest($0) }
            if answered.updateValue(digest, forKey: Name(file)) != nil { isCompact = false }
        }
        // A partial line left by a kill has the beginning of a line. Another file without a line feed is not changed.
        let beginning = Array(#"{"file":""#.utf8)
        guard rest.isEmpty || rest.prefix(beginning.count).elementsEqual(beginning.prefix(rest.count)) else {
            throw CommandError("\(path) is not a file of answers: it ends with something else", isConfiguration: true)
        }
        guard ftruncate(descriptor, off_t(end)) == 0, lseek(descriptor, off_t(end), SEEK_SET) >= 0 else {
            throw CommandError("\(path) cannot be continued: \(SystemError.words(errno)); expected a plain file")
        }
        return (answered, isCompact)
    }

    /// Calls `body` with each complete line, in order.
    /// - Returns: the end of the last complete line, and the bytes after it.
    private static func lines(
        _ descriptor: Int32, _ path: String, _ body: ([UInt8]) throws(CommandError) -> Void
    ) throws(CommandError) -> (end: Int, rest: [UInt8]) {
        var position = 0, end = 0
        var line: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            let read = buffer.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(position)) }
            if read < 0, errno == EINTR { continue }
            guard read >= 0 else { throw CommandError("\(path) cannot be read: \(SystemError.words(errno))") }
            guard read > 0 else { return (end, line) }
            var start = 0
            while let newline = buffer[start..<read].firstIndex(of: UInt8(ascii: "\n")) {
                line += buffer[start..<newline]
                try body(line)
                line.removeAll(keepingCapacity: true)
                start = newline + 1
                end = position + start
            }
            line += buffer[start..<read]
            guard line.count <= longestLine else {
                throw CommandError(
                    "\(path) is not a file of answers: it has a line of more than 256 MiB", isConfiguration: true)
            }
            position += read
        }
    }

    /// The members of a line that are needed; nil if it is not an object.
    private static func parse(_ bytes: [UInt8], embedding: Bool = false) -> Line? {
        bytes.withUnsafeBytes { buffer in
            var scanner = JSONScanner(buffer, subject: "it")
            var line = Line()
            do throws(JSONError) {
                try scanner.object { (name, scanner) throws(JSONError) in
                    let isText = try scanner.kind() == .string
                    switch name {
                    case "file" where isText: line.file = try scanner.string()
                    case "digest" where isText: line.digest = try scanner.string()
                    case "run" where isText: line.run = try scanner.string()
                    case "model" where isText: line.model = try scanner.string()
                    case "embedding" where embedding && !isText:
                        var values: [Float] = []
                        try scanner.array { (_, scanner) throws(JSONError) in
                            values.append(Float(try scanner.number().double(in: scanner.text) ?? .nan))
                        }
                        line.embedding = values
                    default: try scanner.skip()
                    }
                }
                try scanner.end()
                return line
            } catch {
                return nil
            }
        }
    }

    /// Appends a line.
    func append(_ line: String, file: String, digest: String?) throws(CommandError) {
        try Self.write(Array((line + "\n").utf8), to: descriptor, path)
        if answered.updateValue(digest.flatMap { Digest($0) }, forKey: Name(file)) != nil { isCompact = false }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32, _ path: String) throws(CommandError) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress.map { $0 + sent }, bytes.count - sent)
            }
            if count > 0 {
                sent += count
            } else if errno != EINTR {
                throw CommandError("\(path) cannot be written: \(SystemError.words(errno))")
            }
        }
    }

    /// Keeps only the last line of each name, if a name has several. Writes another file, which replaces this one.
    func compact() throws(CommandError) {
        guard !isCompact else { return }
        var last: [Name: Int] = [:]
        var number = 0
        _ = try Self.lines(descriptor, path) { (bytes) throws(CommandError) in
            number += 1
            if let file = Self.parse(bytes)?.file { last[Name(file)] = number }
        }
        try replace(path) { (write) throws(CommandError) in
            number = 0
            _ = try Self.lines(descriptor, path) { (bytes) throws(CommandError) in
                number += 1
                if let file = Self.parse(bytes)?.file, last[Name(file)] == number {
                    try write(bytes + [UInt8(ascii: "\n")])
                }
            }
        }
        isCompact = true
    }

    /// Writes the embeddings as NPY: one row per line, in order; NaN for pictures that failed.
    func writeVectors(to target: String) throws(CommandError) {
        var rows = 0
        var dimension: Int?
        _ = try Self.lines(descriptor, path) { (bytes) throws(CommandError) in
            rows += 1
            if dimension == nil { dimension = Self.parse(bytes, embedding: true)?.embedding?.count }
        }
        let width = dimension ?? 0
        try replace(target) { (write) throws(CommandError) in
            try write(Self.header(rows: rows, dimension: width))
            _ = try Self.lines(descriptor, path) { (bytes) throws(CommandError) in
                let found = Self.parse(bytes, embedding: true)?.embedding
                let row = found?.count == width ? found ?? [] : [Float](repeating: .nan, count: width)
                try write(row.withUnsafeBytes { Array($0) })
            }
        }
    }

    /// The header of an NPY file of 32-bit floats.
    private static func header(rows: Int, dimension: Int) -> [UInt8] {
        var text = "{'descr': '<f4', 'fortran_order': False, 'shape': (\(rows), \(dimension)), }"
        text += String(repeating: " ", count: 63 - (10 + text.utf8.count) % 64) + "\n"
        let count = UInt16(clamping: text.utf8.count)
        return [0x93] + Array("NUMPY".utf8) + [1, 0, UInt8(truncatingIfNeeded: count), UInt8(count >> 8)]
            + Array(text.utf8)
    }

    /// Writes a file under another name, and renames it when it is complete.
    private func replace(
        _ target: String, _ body: (_ write: ([UInt8]) throws(CommandError) -> Void) throws(CommandError) -> Void
    ) throws(CommandError) {
        let new = target + ".new"
        let file = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard file >= 0 else { throw CommandError("\(new) cannot be written: \(SystemError.words(errno))") }
        defer { _ = csys_close(file) }
        var block: [UInt8] = []
        try body { (bytes) throws(CommandError) in
            block += bytes
            guard block.count >= 256 << 10 else { return }
            try Self.write(block, to: file, new)
            block.removeAll(keepingCapacity: true)
        }
        try Self.write(block, to: file, new)
        var code = DiskSync.file(file)
        if code == 0, rename(new, target) != 0 { code = errno }
        guard code == 0 else { throw CommandError("\(target) cannot be written: \(SystemError.words(code))") }
    }
}
