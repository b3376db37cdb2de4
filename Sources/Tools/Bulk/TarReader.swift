internal import CSystem
internal import Glibc
internal import SystemSupport

/// The members of a tar archive. Reads headers and skips contents.
///
/// Supports ustar, GNU's long names and pax headers, which `tar` and WebDataset's writers produce.
struct TarReader: Sendable {
    struct Member: Sendable, Hashable {
        let name: String
        let offset: Int
        let count: Int
    }

    private let path: String
    private var position = 0
    private let size: Int
    private(set) var isAtEnd = false

    private static let block = 512, longestName = 64 << 10

    /// Opens the archive. Blocks.
    init(path: String) throws(CommandError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw CommandError("\(path) cannot be read: \(SystemError.words(errno))")
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw CommandError("\(path) is not a plain file") }
        self.path = path
        size = Int(status.st_size)
    }

    /// The next members that are plain files, at most `maximum`. Blocks.
    mutating func read(maximum: Int) throws(CommandError) -> [Member] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CommandError("\(path) cannot be read: \(SystemError.words(errno))") }
        defer { _ = csys_close(descriptor) }
        var found: [Member] = []
        var longName: String?
        while found.count < maximum, !isAtEnd {
            guard position < size else {
                isAtEnd = true
                break
            }
            let header = try bytes(descriptor, Self.block)
            if header.allSatisfy({ $0 == 0 }) {
                isAtEnd = true
                break
            }
            guard Self.sum(header) == Self.number(header[148..<156]) else {
                throw CommandError(
                    position == Self.block
                        ? "\(path) is not a tar archive (compressed archives must be unpacked first)"
                        : "\(path) is damaged: no header at byte \(position - Self.block)")
            }
            guard let count = Self.number(header[124..<136]), count >= 0, count <= size - position else {
                throw CommandError("\(path) is cut off: a member is longer than the rest of the file")
            }
            let start = position
            switch header[156] {
            case UInt8(ascii: "L"): longName = Self.text(try content(descriptor, count)[...])
            case UInt8(ascii: "x"):
                longName = Self.path(inPax: try content(descriptor, count)) ?? longName
            case UInt8(ascii: "0"), 0, UInt8(ascii: "7"):
                found.append(Member(name: longName ?? Self.name(header), offset: start, count: count))
                longName = nil
            default: longName = nil
            }
            // No overflow: both are at most the size of the file.
            position = start + (count + Self.block - 1) / Self.block * Self.block
        }
        return found
    }

    private mutating func bytes(_ descriptor: Int32, _ count: Int) throws(CommandError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let read = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, count, off_t(position)) }
        guard read == count else { throw CommandError("\(path) is cut off at byte \(position)") }
        position += count
        return bytes
    }

    /// The content of a header member, which is a name.
    private mutating func content(_ descriptor: Int32, _ count: Int) throws(CommandError) -> [UInt8] {
        guard count <= Self.longestName else { throw CommandError("\(path) has a name of \(count) bytes") }
        return try bytes(descriptor, count)
    }

    private static func sum(_ header: [UInt8]) -> Int? {
        // The checksum field itself counts as spaces.
        header.indices.reduce(0) { $0 + ((148..<156).contains($1) ? 32 : Int(header[$1])) }
    }

    /// A number in octal digits, or in GNU's format for large numbers.
    private static func number(_ field: ArraySlice<UInt8>) -> Int? {
        if let first = field.first, first & 0x80 != 0 {
            var value: UInt64 = UInt64(first & 0x7F)
            for byte in field.dropFirst() {
                guard value < 1 << 55 else { return nil }
                value = value << 8 | UInt64(byte)
            }
            return Int(exactly: value)
        }
        let digits = String(decoding: field, as: UTF8.self).trimmingPrefix { $0 == " " || $0 == "\0" }
            .prefix { ("0"..."7").contains($0) }
        return digits.isEmpty ? 0 : Int(digits, radix: 8)
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    private static func name(_ header: [UInt8]) -> String {
        let name = text(header[0..<100])
        // Only ustar has a prefix here.
        let prefix = header[257..<262].elementsEqual("ustar".utf8) && header[262] == 0 ? text(header[345..<500]) : ""
        return prefix.isEmpty ? name : prefix + "/" + name
    }

    /// The path in a pax header, which has records of the form "LENGTH NAME=VALUE\n".
    private static func path(inPax bytes: [UInt8]) -> String? {
        var rest = bytes[...]
        var found: String?
        while let space = rest.firstIndex(of: UInt8(ascii: " ")),
            let length = Int(String(decoding: rest[..<space], as: UTF8.self)), length > space - rest.startIndex + 1,
            length <= rest.count
        {
            let record = rest[(space + 1)..<(rest.startIndex + length)]
            if let equals = record.firstIndex(of: UInt8(ascii: "=")), record[..<equals].elementsEqual("path".utf8) {
                found = String(decoding: record[(equals + 1)...].dropLast(), as: UTF8.self)
            }
            rest = rest.dropFirst(length)
        }
        return found
    }
}
