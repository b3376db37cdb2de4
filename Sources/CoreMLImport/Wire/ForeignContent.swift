/// The contents of a file that has the name of a model and is not one: what a repository, a download or an archive left in its
/// place.
package enum ForeignContent {
    /// As many bytes from the beginning of a file tell.
    package static let headSize = 512

    /// The kind of such a file and its remedy, as what follows its name in a sentence. nil where its beginning may be a
    /// model's.
    /// - Parameters:
    ///   - head: the first bytes of the file.
    ///   - isBinary: whether no model of the file's format is text.
    package static func reason(_ head: [UInt8], isBinary: Bool) -> String? {
        if head.isEmpty { return "is empty: copy or download it again" }
        func has(_ text: String, at place: Int = 0) -> Bool { head.dropFirst(place).starts(with: text.utf8) }
        if has("version https://git-lfs.github.com/spec/") {
            return "is a Git LFS pointer, and not the file itself: fetch that with `git lfs pull`"
        }
        if head.starts(with: [0x1F, 0x8B]) { return "is compressed with gzip: unpack it with gunzip" }
        if has("PK\u{3}\u{4}") { return "is a zip archive: unpack it, and serve the file or folder in it" }
        if has("ustar", at: 257) { return "is a tar archive: unpack it, and serve the file or folder in it" }
        if has("book\0\0\0\0mark\0\0\0\0") {
            return "is a macOS alias, which only the Mac that made it can follow: copy the file itself"
        }
        if head.starts(with: [0, 5, 0x16, 7, 0, 2, 0, 0]) {
            return
                "holds attributes of a Mac's file (AppleDouble), and not the file itself: copy that, and delete this one"
        }
        let text = String(decoding: head, as: UTF8.self).drop { $0.isWhitespace }.prefix(20).lowercased()
        if text.hasPrefix("<!doctype html") || text.hasPrefix("<html") {
            return "is a web page: download the file itself"
        }
        return isBinary && isText(head) ? "is a text file, and not a model: copy or download the model again" : nil
    }

    /// True if there are no control characters but those of lines of text; a character may be cut off at the end.
    private static func isText(_ head: [UInt8]) -> Bool {
        let isPlain = head.allSatisfy { $0 >= 0x20 && $0 != 0x7F || (0x09...0x0D).contains($0) }
        return isPlain && (0..<4).contains { String(validating: head.dropLast($0), as: UTF8.self) != nil }
    }
}

extension Bytes {
    /// Throws where the bytes are those of another kind of file.
    func refuseForeignContent() throws(Problem) {
        let head = self[0..<Swift.min(count, ForeignContent.headSize)] ?? .empty
        if let reason = ForeignContent.reason(head.elements(), isBinary: true) { throw Problem(reason) }
    }
}
