/// The kernel's list format for CPUs: `0-3,8,10-11`.
enum CPUList {
    /// The number of CPUs.
    static func count(_ ranges: [ClosedRange<Int>]) -> Int {
        ranges.reduce(0) { $0 + $1.count }
    }

    /// The CPUs in the list, in ascending order; nil if it is empty or malformed.
    static func ranges(_ text: String) -> [ClosedRange<Int>]? {
        var ranges: [ClosedRange<Int>] = []
        var next = 0
        for part in text.trimmedASCII.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false)
            guard (1...2).contains(ends.count), let first = ends.first.flatMap({ Int($0) }),
                let last = ends.last.flatMap({ Int($0) }), first >= next, last >= first, last < 1 << 20
            else { return nil }
            ranges.append(first...last)
            next = last + 1
        }
        return ranges.isEmpty ? nil : ranges
    }

    /// The CPUs in both lists.
    static func common(_ one: [ClosedRange<Int>], _ other: [ClosedRange<Int>]) -> [ClosedRange<Int>] {
        one.flatMap { range in
            other.filter { range.overlaps($0) }.map { range.clamped(to: $0) }
        }
    }

    /// The CPUs in the kernel's list format.
    static func text(_ ranges: [ClosedRange<Int>]) -> String {
        ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",")
    }
}

extension StringProtocol {
    /// The text without white space at both ends: files of the kernel end with a newline.
    var trimmedASCII: String {
        let isSpace = { (character: Character) in character.isWhitespace }
        guard let start = firstIndex(where: { !isSpace($0) }), let end = lastIndex(where: { !isSpace($0) }) else {
            return ""
        }
        return String(self[start...end])
    }
}
