/// Some of the patches of a version's examples, in the order of the examples' digests: a bit for each.
package struct PatchSelection: Sendable, Equatable {
    /// The bits, the first in the lowest bit of the first byte.
    let bits: [UInt8]

    init(bits: [UInt8]) { self.bits = bits }

    /// - Parameters:
    ///   - rows: the selected patches.
    ///   - count: the number of patches.
    package init(_ rows: [Int], of count: Int) {
        var bits = [UInt8](repeating: 0, count: (count + 7) / 8)
        for row in rows where row < count { bits[row / 8] |= 1 << UInt8(row % 8) }
        self.bits = bits
    }

    /// The selected ones of some successive patches, counted from the first of these.
    func rows(from first: Int, count: Int) -> [Int32] {
        (0..<count).compactMap { row in
            let place = first + row
            guard place / 8 < bits.count, bits[place / 8] >> UInt8(place % 8) & 1 == 1 else { return nil }
            return Int32(truncatingIfNeeded: row)
        }
    }
}
