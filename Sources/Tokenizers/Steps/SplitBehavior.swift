/// The use of the matches when a text is split at them.
enum SplitBehavior: String, Sendable, CaseIterable {
    case removed = "Removed", isolated = "Isolated", mergedWithPrevious = "MergedWithPrevious"
    case mergedWithNext = "MergedWithNext", contiguous = "Contiguous"

    /// A part of a text: a match, or the text between two matches.
    struct Segment {
        var range: Range<Int>
        var isMatch: Bool
    }

    /// Divides a piece by segments that cover it.
    func append(_ segments: [Segment], of piece: TextPart.Piece, to pieces: inout [TextPart.Piece]) {
        var ranges: [Range<Int>] = []
        ranges.reserveCapacity(segments.count)
        switch self {
        case .removed: ranges = segments.lazy.filter { !$0.isMatch }.map(\.range)
        case .isolated: ranges = segments.map(\.range)
        case .contiguous:
            var wasMatch = false
            for segment in segments {
                if segment.isMatch == wasMatch, let last = ranges.last {
                    ranges[ranges.count - 1] = last.lowerBound..<segment.range.upperBound
                } else {
                    ranges.append(segment.range)
                }
                wasMatch = segment.isMatch
            }
        case .mergedWithPrevious:
            var wasMatch = false
            for segment in segments {
                if segment.isMatch, !wasMatch, let last = ranges.last {
                    ranges[ranges.count - 1] = last.lowerBound..<segment.range.upperBound
                } else {
                    ranges.append(segment.range)
                }
                wasMatch = segment.isMatch
            }
        case .mergedWithNext:
            var wasMatch = false
            for segment in segments.reversed() {
                if segment.isMatch, !wasMatch, let last = ranges.last {
                    ranges[ranges.count - 1] = segment.range.lowerBound..<last.upperBound
                } else {
                    ranges.append(segment.range)
                }
                wasMatch = segment.isMatch
            }
            ranges.reverse()
        }
        for range in ranges where !range.isEmpty {
            let isAtStart = piece.isAtStart && range.lowerBound == piece.range.lowerBound
            pieces.append(TextPart.Piece(range: range, token: nil, isAtStart: isAtStart))
        }
    }

    /// The segments of a range for characters that are matches, each of its own.
    static func segments(
        _ text: [Unicode.Scalar], _ range: Range<Int>, where isMatch: (Unicode.Scalar) -> Bool
    ) -> [Segment] {
        var segments: [Segment] = [], start = range.lowerBound
        for place in range where isMatch(text[place]) {
            if start < place { segments.append(Segment(range: start..<place, isMatch: false)) }
            segments.append(Segment(range: place..<place + 1, isMatch: true))
            start = place + 1
        }
        if start < range.upperBound { segments.append(Segment(range: start..<range.upperBound, isMatch: false)) }
        return segments
    }
}
