/// A set of characters in a pattern: ranges, general categories and white space, or everything else.
struct CharacterClass: Sendable, Hashable {
    var ranges: [ClosedRange<UInt32>] = []
    /// The bits of the categories, as in ``CharacterTraits/categoryBit``.
    var categories: UInt32 = 0
    var hasWhite = false
    var hasOtherThanWhite = false
    var isNegated = false

    /// A set of one character.
    init(_ character: Unicode.Scalar) { ranges = [character.value...character.value] }

    init(categories: UInt32 = 0, hasWhite: Bool = false, hasOtherThanWhite: Bool = false) {
        self.categories = categories
        self.hasWhite = hasWhite
        self.hasOtherThanWhite = hasOtherThanWhite
    }

    /// Adds the members of another set that is not negated.
    mutating func formUnion(_ other: CharacterClass) {
        ranges += other.ranges
        categories |= other.categories
        hasWhite = hasWhite || other.hasWhite
        hasOtherThanWhite = hasOtherThanWhite || other.hasOtherThanWhite
    }

    /// The set with the ranges sorted, as ``contains(_:_:)`` needs it.
    func sorted() -> CharacterClass {
        var merged: [ClosedRange<UInt32>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound <= last.upperBound {
                merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        var result = self
        result.ranges = merged
        return result
    }

    /// True if the set has the character.
    func contains(_ character: Unicode.Scalar, _ traits: CharacterTraits) -> Bool {
        (categories & traits.categoryBit != 0 || (traits.isWhite ? hasWhite : hasOtherThanWhite)
            || isInRanges(character.value)) != isNegated
    }

    private func isInRanges(_ value: UInt32) -> Bool {
        var low = 0, high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < value { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].lowerBound <= value
    }
}
