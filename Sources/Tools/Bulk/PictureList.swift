internal import CSystem
internal import FoundationEssentials
internal import JSON
internal import SystemSupport

/// A list of pictures, one per line: a path, or a JSON object with `path`. It is read incrementally, so a pipe may stay
/// open for days.
///
/// A value type: to continue, use the list that the read returned or changed.
struct PictureList: Sendable {
    /// One line of the list that is not blank.
    struct Entry: Sendable {
        /// The path, or the reason why the line has no path.
        let path: Result<String, Mistake>
        /// The name of the picture in the answer: its path, or the readable part of the line.
        let name: String
    }

    struct Mistake: Error {
        let reason: String
    }

    private let descriptor: Int32
    private var rest: [UInt8] = []
    /// True if the line that `rest` begins is too long and is being skipped.
    private var isSkipping = false
    private(set) var isAtEnd = false
    /// The reason why reading ended early; nil at the normal end.
    private(set) var failure: String?

    /// The maximum length of a line in bytes.
    private static let longestLine = 64 << 10

    /// - Parameter descriptor: a file or a pipe, which the caller owns.
    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Reads more of the list, up to a complete line. If reading fails, the list ends and `failure` is set. Blocks.
    mutating func read() -> [Entry] {
        var buffer = [UInt8](repeating: 0, count: Self.longestLine)
        let count = csys_read(descriptor, &buffer, buffer.count)
        guard count > 0 else {
            isAtEnd = true
            if count < 0 { failure = SystemError.words(Int32(clamping: -count)) }
            defer { rest = [] }
            // The last line may have no line feed.
            return isSkipping ? [] : entry(rest).map { [$0] } ?? []
        }
        rest += buffer[..<count]
        var entries: [Entry] = []
        var start = 0
        while let end = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
            if isSkipping {
                isSkipping = false
            } else if let entry = entry(Array(rest[start..<end])) {
                entries.append(entry)
            }
            start = end + 1
        }
        rest.removeFirst(start)
        if rest.count > Self.longestLine {
            if !isSkipping {
                let name = String(decoding: rest.prefix(200), as: UTF8.self)
                let reason = "the line is longer than 64 KiB: expected a path, or an object with \"path\""
                entries.append(Entry(path: .failure(Mistake(reason: reason)), name: name))
            }
            isSkipping = true
            rest = []
        }
        return entries
    }

    private struct Object: Decodable {
        let path: String
    }

    /// The entry of a line; nil for a blank one.
    private func entry(_ bytes: [UInt8]) -> Entry? {
        // Remove byte order marks, at the start of the list and of concatenated lists. No path begins with one.
        var text = String(decoding: bytes, as: UTF8.self).withoutByteOrderMark
        if text.hasSuffix("\r") { text.removeLast() }
        guard let first = text.first(where: { $0 != " " && $0 != "\t" }) else { return nil }
        guard first == "{" else { return Entry(path: .success(text), name: text) }
        do {
            let path = try JSONDecoder().decode(Object.self, from: Data(text.utf8)).path
            return Entry(path: .success(path), name: path)
        } catch {
            let mistake = Mistake(reason: "expected a path, or an object such as {\"path\": \"cat.jpg\"}")
            return Entry(path: .failure(mistake), name: String(text.prefix(200)))
        }
    }
}
