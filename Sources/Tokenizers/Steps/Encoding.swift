/// A text as a model reads it.
package struct Encoding: Sendable, Hashable {
    /// The ids of the tokens.
    package private(set) var ids: [UInt32] = []
    /// For each id 1, or 0 for padding.
    package private(set) var mask: [UInt8] = []
    /// For each id the type of its part of the text.
    package private(set) var typeIDs: [UInt32] = []
    /// True if tokens of the text were left out.
    package let isTruncated: Bool

    init(isTruncated: Bool) { self.isTruncated = isTruncated }

    /// The number of tokens without padding.
    package var tokenCount: Int { mask.reduce(0) { $0 + Int($1) } }

    mutating func append(_ more: [UInt32], typeID: UInt32) {
        ids += more
        mask += repeatElement(1, count: more.count)
        typeIDs += repeatElement(typeID, count: more.count)
    }

    /// Adds padding up to a length.
    mutating func pad(to length: Int, _ padding: Padding) {
        let count = length - ids.count
        guard count > 0 else { return }
        let place = padding.isLeft ? 0 : ids.count
        ids.insert(contentsOf: repeatElement(padding.id, count: count), at: place)
        mask.insert(contentsOf: repeatElement(0, count: count), at: place)
        typeIDs.insert(contentsOf: repeatElement(padding.typeID, count: count), at: place)
    }
}
