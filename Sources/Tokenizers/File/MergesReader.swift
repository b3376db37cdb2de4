internal import JSON

/// Reads the merges of a BPE model: `"a b"`, or `["a", "b"]`.
struct MergesReader {
    private let vocabulary: TokenTable
    /// The length of the prefix that the second token of a merge loses.
    private let prefixLength: Int

    init(_ vocabulary: TokenTable, prefixLength: Int) {
        self.vocabulary = vocabulary
        self.prefixLength = prefixLength
    }

    /// The merges by pair. A pair that occurs again has the later rank.
    func read(_ start: JSONScanner) throws(TokenizerProblem) -> [UInt64: BPEModel.Merge] {
        var scanner = start
        var merges: [UInt64: BPEModel.Merge] = [:]
        merges.reserveCapacity(vocabulary.count)
        try Scanning.expect("[", &scanner)
        guard !scanner.take(UInt8(ascii: "]")) else { return merges }
        var rank = 0
        repeat {
            guard rank < TokenTable.maximumTokens else {
                throw .tooLarge("model.merges: expected at most \(TokenTable.maximumTokens) merges, found more")
            }
            // Older files begin with a line about the version.
            guard let (first, second) = try pair(&scanner, rank) else { continue }
            let whole = first + second.dropFirst(prefixLength)
            let merge = BPEModel.Merge(rank: UInt32(rank), id: try id(whole, rank))
            merges[BPEModel.pair(try id(first, rank), try id(second, rank))] = merge
            rank += 1
        } while scanner.take(UInt8(ascii: ","))
        try Scanning.expect("]", &scanner)
        return merges
    }

    private func pair(
        _ scanner: inout JSONScanner, _ rank: Int
    ) throws(TokenizerProblem) -> (first: [UInt8], second: [UInt8])? {
        func string() throws(TokenizerProblem) -> [UInt8] {
            try Scanning.checked { () throws(JSONError) in
                Array(try scanner.string("model.merges[\(rank)]: a token").utf8)
            }
        }
        if scanner.take(UInt8(ascii: "[")) {
            let first = try string()
            try Scanning.expect(",", &scanner)
            let second = try string()
            try Scanning.expect("]", &scanner)
            return (first, second)
        }
        let text = try string()
        if text.starts(with: "#version".utf8) { return nil }
        let parts = text.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw .malformed(
                "model.merges[\(rank)]: expected two tokens with a blank between them, found \(TokenTable.shown(text))")
        }
        return (Array(parts[0]), Array(parts[1]))
    }

    private func id(_ token: [UInt8], _ rank: Int) throws(TokenizerProblem) -> UInt32 {
        guard let id = vocabulary.id(of: token) else {
            throw .malformed(
                "model.merges[\(rank)]: expected tokens of the vocabulary, found \(TokenTable.shown(token))")
        }
        return id
    }
}
