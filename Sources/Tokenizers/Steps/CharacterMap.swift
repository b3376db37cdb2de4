/// The `precompiled_charsmap` of SentencePiece: a double-array trie of UTF-8 texts, and the texts that replace them.
struct CharacterMap: Sendable {
    /// The maximum number of bytes of a replacement.
    private static let maximumReplacement = 255

    private let units: [UInt32]
    /// The replacements, each with a zero at its end.
    private let texts: [UInt8]

    /// Reads the bytes: the size of the trie, the trie, the texts.
    init(_ bytes: [UInt8]) throws(TokenizerProblem) {
        guard bytes.count >= 4 else {
            throw .malformed("expected a trie of characters, found \(bytes.count) bytes")
        }
        func word(_ place: Int) -> UInt32 {
            bytes[place..<place + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }
        let size = Int(word(0))
        guard size % 4 == 0, size > 0, size <= bytes.count - 4 else {
            throw .malformed(
                "expected a trie of up to \(bytes.count - 4) bytes, a multiple of 4, found the size \(size)")
        }
        units = stride(from: 4, to: 4 + size, by: 4).map(word)
        texts = Array(bytes[(4 + size)...])
        let longest = texts.split(separator: 0).map(\.count).max() ?? 0
        guard longest <= Self.maximumReplacement else {
            throw .tooLarge("a replacement has \(longest) bytes, the limit is \(Self.maximumReplacement)")
        }
        guard String(validating: texts, as: UTF8.self) != nil else {
            throw .malformed("expected replacements in UTF-8, found other bytes")
        }
    }

    /// Replaces characters, and short clusters of them as a whole.
    func normalized(_ state: Normalizer.State) throws(TokenizerProblem) -> [Unicode.Scalar] {
        var result: [Unicode.Scalar] = []
        result.reserveCapacity(state.text.count)
        var bytes: [UInt8] = [], place = 0
        let clusters = CharacterClusters(state.text)
        while place < state.text.count {
            let end = clusters.end(from: place)
            bytes.removeAll(keepingCapacity: true)
            // Longer clusters are not replaced as a whole.
            for character in state.text[place..<end].prefix(6) { bytes.append(character) }
            if bytes.count < 6, let replacement = replacement(bytes) {
                result.append(contentsOf: replacement)
            } else {
                for character in state.text[place..<end] {
                    bytes.removeAll(keepingCapacity: true)
                    bytes.append(character)
                    if let replacement = replacement(bytes) {
                        result.append(contentsOf: replacement)
                    } else {
                        result.append(character)
                    }
                }
            }
            try state.checkLength(result)
            place = end
        }
        return result
    }

    /// The replacement of the shortest text in the trie that some bytes begin with; nil if the trie has none.
    private func replacement(_ bytes: [UInt8]) -> String.UnicodeScalarView? {
        guard let root = units.first else { return nil }
        var place = Self.offset(root)
        for byte in bytes {
            guard byte != 0 else { return nil }
            place ^= Int(byte)
            guard place < units.count, units[place] & 0x8000_00FF == UInt32(byte) else { return nil }
            let unit = units[place]
            place ^= Self.offset(unit)
            guard unit >> 8 & 1 != 0 else { continue }
            guard place < units.count else { return nil }
            let start = Int(units[place] & 0x7FFF_FFFF)
            guard start < texts.count else { return start == texts.count ? "".unicodeScalars : nil }
            return String(validating: texts[start...].prefix { $0 != 0 }, as: UTF8.self)?.unicodeScalars
        }
        return nil
    }

    private static func offset(_ unit: UInt32) -> Int { Int(unit >> 10) << Int((unit & 1 << 9) >> 6) }
}

/// The clusters of a text: the characters that readers see, by Unicode's rules (UAX 29). They are those of
/// Swift's library, in its version of Unicode: Swift 6.3 and the package agree on every character after a letter; a
/// test compares them.
private struct CharacterClusters {
    private let text: [Unicode.Scalar]
    /// By index of a character that begins a cluster true; nil if the text is ASCII.
    private var starts: [Bool]?

    init(_ text: [Unicode.Scalar]) {
        self.text = text
        guard text.contains(where: { $0.value >= 0x80 }) else { return }
        var starts = [Bool](repeating: false, count: text.count), place = 0
        var string = ""
        string.unicodeScalars.append(contentsOf: text)
        for cluster in string {
            if place < starts.count { starts[place] = true }
            place += cluster.unicodeScalars.count
        }
        self.starts = starts
    }

    /// The end of the cluster that begins at an index.
    func end(from start: Int) -> Int {
        var end = start + 1
        if let starts {
            while end < text.count, !starts[end] { end += 1 }
        } else if text[start] == "\r", end < text.count, text[end] == "\n" {
            end += 1
        }
        return end
    }
}
