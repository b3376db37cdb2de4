/// The pattern of Split and Replace: a fixed text, or a regular expression.
enum SearchPattern: Sendable {
    case text([Unicode.Scalar])
    case expression(PatternProgram)

    /// A search in the pieces of a text, which reuses its memory.
    func searcher(_ table: CharacterTable) -> Searcher {
        switch self {
        case .text(let wanted): .text(TextSearch(wanted))
        case .expression(let program): .expression(PatternMatcher(program, table))
        }
    }
}

/// A search for a pattern.
enum Searcher {
    case text(TextSearch)
    case expression(PatternMatcher)

    /// The segments of a range of a text: matches, and the text between them.
    mutating func segments(
        _ text: [Unicode.Scalar], _ range: Range<Int>
    ) throws(TokenizerProblem) -> [SplitBehavior.Segment] {
        var segments: [SplitBehavior.Segment] = [], start = range.lowerBound
        func add(_ match: Range<Int>) {
            if start < match.lowerBound {
                segments.append(SplitBehavior.Segment(range: start..<match.lowerBound, isMatch: false))
            }
            segments.append(SplitBehavior.Segment(range: match, isMatch: true))
            start = match.upperBound
        }
        switch self {
        case .text(let search): search.forEachMatch(in: text, range, add)
        case .expression(var matcher):
            // The matcher has one owner, so that its memory is not copied.
            self = .text(TextSearch([]))
            defer { self = .expression(matcher) }
            try matcher.forEachMatch(in: text, range, add)
        }
        if start < range.upperBound {
            segments.append(SplitBehavior.Segment(range: start..<range.upperBound, isMatch: false))
        }
        return segments
    }
}

/// Finds a fixed text in linear time (Knuth, Morris, Pratt 1977).
struct TextSearch {
    private let wanted: [Unicode.Scalar]
    /// By number of matched characters the number that are still matched after a mismatch.
    private let fallback: [Int]

    init(_ wanted: [Unicode.Scalar]) {
        self.wanted = wanted
        var fallback = [0, 0], length = 0
        for place in wanted.indices.dropFirst() {
            while length > 0, wanted[place] != wanted[length] { length = fallback[length] }
            if wanted[place] == wanted[length] { length += 1 }
            fallback.append(length)
        }
        self.fallback = fallback
    }

    func forEachMatch(in text: [Unicode.Scalar], _ range: Range<Int>, _ body: (Range<Int>) -> Void) {
        var matched = 0
        for place in range {
            while matched > 0, text[place] != wanted[matched] { matched = fallback[matched] }
            if text[place] == wanted[matched] { matched += 1 }
            if matched == wanted.count {
                body(place + 1 - matched..<place + 1)
                matched = 0
            }
        }
    }
}
