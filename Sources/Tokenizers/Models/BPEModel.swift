/// Pairs of tokens that are merged in the order of their ranks (Sennrich, Haddow, Birch 2016).
struct BPEModel: Sendable {
    /// The result of a merge.
    struct Merge: Sendable {
        let rank: UInt32
        let id: UInt32
    }

    /// The settings of a model in its file.
    struct Options: Sendable {
        var unknown: UInt32?
        /// A token for unknown text that the vocabulary does not have. Models at the level of bytes never need it.
        var missingUnknown: String?
        /// Written before each character but the first of a word, and after its last one.
        var prefix: [UInt8] = []
        var suffix: [UInt8] = []
        var fusesUnknown = false
        var fallsBackToBytes = false
        /// True if a word that is a token needs no merges.
        var takesWholeWords = false
    }

    let vocabulary: TokenTable
    private let merges: [UInt64: Merge]
    private let options: Options
    private let byteTokens: ByteTokens?
    /// The ids of the first characters of Unicode, which the alphabet of bytes consists of.
    private let firstIDs: [UInt32?]

    init(_ vocabulary: TokenTable, merges: [UInt64: Merge], _ options: Options) {
        self.vocabulary = vocabulary
        self.merges = merges
        self.options = options
        byteTokens = options.fallsBackToBytes ? ByteTokens(vocabulary) : nil
        firstIDs = (0..<0x180).map { value in
            Unicode.Scalar(UInt32(value)).flatMap { vocabulary.id(of: Array(UTF8Bytes($0))) }
        }
    }

    /// Two ids as the key of their merge.
    static func pair(_ first: UInt32, _ second: UInt32) -> UInt64 { UInt64(first) << 32 | UInt64(second) }

    func encode(_ text: ArraySlice<Unicode.Scalar>, to ids: inout [UInt32]) throws(TokenizerProblem) {
        if options.takesWholeWords {
            var bytes: [UInt8] = []
            for character in text { bytes.append(character) }
            if let id = vocabulary.id(of: bytes) { return ids.append(id) }
        }
        var word = MergingWord(try symbols(text))
        word.merge(merges)
        word.append(to: &ids)
    }

    /// The tokens of the characters of a word.
    private func symbols(_ text: ArraySlice<Unicode.Scalar>) throws(TokenizerProblem) -> [UInt32] {
        var symbols: [UInt32] = [], bytes: [UInt8] = []
        symbols.reserveCapacity(text.count)
        /// True if the token for unknown text is due: it is written when a known character follows, or another one.
        var isUnknownDue = false
        for place in text.indices {
            let character = text[place]
            let isFirst = place == text.startIndex, isLast = place == text.endIndex - 1
            if let id = quickID(character, isFirst: isFirst, isLast: isLast, &bytes) {
                if isUnknownDue, let unknown = options.unknown { symbols.append(unknown) }
                isUnknownDue = false
                symbols.append(id)
            } else if let ids = byteTokens?.ids(of: bytes) {
                // The package writes these before a token that is due.
                symbols += ids
            } else if let unknown = options.unknown {
                if isUnknownDue, !options.fusesUnknown { symbols.append(unknown) }
                isUnknownDue = true
            } else if let missing = options.missingUnknown {
                throw .unknownToken(
                    "model: the vocabulary has neither \"\(character)\" nor the token \"\(missing.prefix(60))\" for it")
            }
        }
        if isUnknownDue, let unknown = options.unknown { symbols.append(unknown) }
        return symbols
    }

    /// The id of a character at its place in a word; its bytes are in `bytes` if the result is nil.
    private func quickID(
        _ character: Unicode.Scalar, isFirst: Bool, isLast: Bool, _ bytes: inout [UInt8]
    ) -> UInt32? {
        let isPlain = (isFirst || options.prefix.isEmpty) && (!isLast || options.suffix.isEmpty)
        if isPlain, character.value < firstIDs.count, let id = firstIDs[Int(character.value)] { return id }
        bytes.removeAll(keepingCapacity: true)
        if !isFirst { bytes += options.prefix }
        bytes.append(character)
        if isLast { bytes += options.suffix }
        return vocabulary.id(of: bytes)
    }
}

/// The tokens of a word while they are merged: a list with links, and a heap of the possible merges.
private struct MergingWord {
    private struct Symbol {
        var id: UInt32
        var previous: Int32
        var next: Int32
        var isRemoved = false
    }

    private struct Candidate {
        /// The rank, then the place.
        let key: UInt64
        let id: UInt32

        var place: Int { Int(key & 0xFFFF_FFFF) }
    }

    private var symbols: [Symbol] = []
    private var heap: [Candidate] = []

    init(_ ids: [UInt32]) {
        symbols.reserveCapacity(ids.count)
        for (place, id) in ids.enumerated() {
            let next = place + 1 < ids.count ? Int32(place + 1) : -1
            symbols.append(Symbol(id: id, previous: Int32(place - 1), next: next))
        }
    }

    /// Merges the pair of the lowest rank, of equal ones the first, until no pair has a merge.
    mutating func merge(_ merges: [UInt64: BPEModel.Merge]) {
        for place in symbols.indices.dropLast() { consider(place, merges) }
        while let top = pop() {
            let place = top.place
            guard !symbols[place].isRemoved, symbols[place].next >= 0 else { continue }
            let right = Int(symbols[place].next)
            // A neighbour may have been merged meanwhile.
            let pair = BPEModel.pair(symbols[place].id, symbols[right].id)
            guard let merge = merges[pair], merge.id == top.id else { continue }
            symbols[place].id = top.id
            symbols[place].next = symbols[right].next
            symbols[right].isRemoved = true
            if symbols[place].next >= 0 { symbols[Int(symbols[place].next)].previous = Int32(place) }
            if symbols[place].previous >= 0 { consider(Int(symbols[place].previous), merges) }
            consider(place, merges)
        }
    }

    func append(to ids: inout [UInt32]) {
        for symbol in symbols where !symbol.isRemoved { ids.append(symbol.id) }
    }

    /// Adds the merge of a symbol with the next one, if they have one.
    private mutating func consider(_ place: Int, _ merges: [UInt64: BPEModel.Merge]) {
        let next = Int(symbols[place].next)
        guard next >= 0, let merge = merges[BPEModel.pair(symbols[place].id, symbols[next].id)] else { return }
        push(Candidate(key: UInt64(merge.rank) << 32 | UInt64(place), id: merge.id))
    }

    private mutating func push(_ candidate: Candidate) {
        heap.append(candidate)
        var place = heap.count - 1
        while place > 0 {
            let parent = (place - 1) / 2
            guard heap[place].key < heap[parent].key else { return }
            heap.swapAt(place, parent)
            place = parent
        }
    }

    private mutating func pop() -> Candidate? {
        guard let top = heap.first, let last = heap.popLast() else { return nil }
        guard !heap.isEmpty else { return top }
        heap[0] = last
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2] where child < heap.count && heap[child].key < heap[least].key {
                least = child
            }
            guard least != place else { return top }
            heap.swapAt(place, least)
            place = least
        }
    }
}
