/// The longest token that a word begins with, then the longest one for the rest, and so on (Schuster, Nakajima 2012).
struct WordPieceModel: Sendable {
    let vocabulary: TokenTable
    private let unknown: UInt32
    /// The maximum number of characters of a word; a longer one is unknown.
    private let longestWord: Int
    private let trie: PrefixTrie
    /// The node of the prefix of tokens inside a word; nil if no token begins with it.
    private let inside: Int?

    init(_ vocabulary: TokenTable, unknown: UInt32, prefix: String, longestWord: Int) {
        self.vocabulary = vocabulary
        self.unknown = unknown
        self.longestWord = longestWord
        let trie = PrefixTrie(vocabulary)
        var node: Int? = PrefixTrie.root
        for byte in prefix.utf8 { node = node.flatMap { trie.step($0, byte) } }
        self.trie = trie
        inside = node
    }

    func encode(_ text: ArraySlice<Unicode.Scalar>, to ids: inout [UInt32]) {
        guard text.count <= longestWord else { return ids.append(unknown) }
        let count = ids.count
        var start = text.startIndex
        while start < text.endIndex {
            guard let (end, id) = longest(text, start) else {
                // One part that is unknown makes the word unknown.
                ids.removeSubrange(count...)
                ids.append(unknown)
                return
            }
            ids.append(id)
            start = end
        }
    }

    private func longest(_ text: ArraySlice<Unicode.Scalar>, _ start: Int) -> (Int, UInt32)? {
        guard var node = start == text.startIndex ? PrefixTrie.root : inside else { return nil }
        var found: (Int, UInt32)?, place = start
        while place < text.endIndex, let next = trie.step(node, text[place]) {
            node = next
            place += 1
            if let id = trie.value(node) { found = (place, id) }
        }
        return found
    }
}
