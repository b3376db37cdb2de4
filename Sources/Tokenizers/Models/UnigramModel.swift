/// The division of a text into tokens that has the highest sum of scores (Kudo 2018).
struct UnigramModel: Sendable {
    /// The score of an unknown character is the lowest one of all tokens minus this.
    private static let unknownPenalty = 10.0

    let vocabulary: TokenTable
    /// The number of tokens of the file.
    let size: Int
    private let scores: [Double]
    private let unknown: UInt32?
    private let unknownScore: Double
    private let trie: PrefixTrie
    private let byteTokens: ByteTokens?

    /// - Parameter scores: by id the score of its token.
    init(_ vocabulary: TokenTable, scores: [Double], unknown: UInt32?, fallsBackToBytes: Bool) {
        self.vocabulary = vocabulary
        size = scores.count
        self.scores = scores
        self.unknown = unknown
        unknownScore = (scores.min() ?? .infinity) - Self.unknownPenalty
        trie = PrefixTrie(vocabulary)
        byteTokens = fallsBackToBytes ? ByteTokens(vocabulary) : nil
    }

    /// The best way to a place in the text: the token that ends there, and its start.
    private struct Step {
        var id: UInt32 = 0
        var score = 0.0
        var start: Int32 = -1
    }

    func encode(_ text: ArraySlice<Unicode.Scalar>, to ids: inout [UInt32]) throws(TokenizerProblem) {
        let steps = try bestSteps(text)
        var pieces: [(range: Range<Int>, id: UInt32)] = [], end = text.count
        while end > 0 {
            let start = Int(steps[end].start), id = steps[end].id
            if id == unknown, let last = pieces.last, last.id == unknown, last.range.lowerBound == end {
                // Unknown characters next to each other are one piece.
                pieces[pieces.count - 1].range = start..<last.range.upperBound
            } else {
                pieces.append((start..<end, id))
            }
            end = start
        }
        for (range, id) in pieces.reversed() {
            if id == unknown {
                try appendUnknown(text[text.startIndex + range.lowerBound..<text.startIndex + range.upperBound], &ids)
            } else {
                ids.append(id)
            }
        }
    }

    private func bestSteps(_ text: ArraySlice<Unicode.Scalar>) throws(TokenizerProblem) -> [Step] {
        var steps = [Step](repeating: Step(), count: text.count + 1)
        for start in 0..<text.count {
            let score = steps[start].score
            var isKnown = false, node = PrefixTrie.root, end = start
            while end < text.count, let next = trie.step(node, text[text.startIndex + end]) {
                node = next
                end += 1
                guard let id = trie.value(node) else { continue }
                let sum = scores[Int(id)] + score
                if steps[end].start < 0 || sum > steps[end].score {
                    steps[end] = Step(id: id, score: sum, start: Int32(start))
                }
                if end == start + 1 { isKnown = true }
            }
            guard !isKnown else { continue }
            let sum = unknownScore + score
            if steps[start + 1].start < 0 || sum > steps[start + 1].score {
                guard let unknown else {
                    let character = String(text[text.startIndex + start])
                    throw .unknownToken(
                        "model: the vocabulary does not have \"\(character)\", and \"unk_id\" is missing")
                }
                steps[start + 1] = Step(id: unknown, score: sum, start: Int32(start))
            }
        }
        return steps
    }

    private func appendUnknown(
        _ text: ArraySlice<Unicode.Scalar>, _ ids: inout [UInt32]
    ) throws(TokenizerProblem) {
        var bytes: [UInt8] = []
        for character in text { bytes.append(character) }
        if let id = vocabulary.id(of: bytes) {
            ids.append(id)
        } else if let all = byteTokens?.ids(of: bytes) {
            ids += all
        } else if let unknown {
            ids.append(unknown)
        }
    }
}
