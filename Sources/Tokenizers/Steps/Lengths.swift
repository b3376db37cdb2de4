/// The maximum length of a text in tokens.
package struct Truncation: Sendable, Hashable {
    /// The maximum number of ids, added tokens included.
    package var maximumLength: Int
    /// True if the beginning of the text is left out, and not its end.
    package var isLeft: Bool

    package init(maximumLength: Int, isLeft: Bool = false) {
        self.maximumLength = maximumLength
        self.isLeft = isLeft
    }
}

/// The ids that fill texts up to a length.
package struct Padding: Sendable, Hashable {
    /// The maximum length of padded texts.
    package static let maximumLength = 1 << 20

    /// The length of each text; nil for that of the longest one of a batch. Longer texts keep their length.
    package var length: Int?
    /// The length is a multiple of this.
    package var multiple: Int
    /// True if the padding is before the text.
    package var isLeft: Bool
    package var id: UInt32
    package var typeID: UInt32

    package init(length: Int?, multiple: Int = 1, isLeft: Bool = false, id: UInt32, typeID: UInt32 = 0) {
        self.length = length
        self.multiple = multiple
        self.isLeft = isLeft
        self.id = id
        self.typeID = typeID
    }

    /// The length of the texts of a batch.
    func length(longest: Int) -> Int {
        let length = min(max(length ?? longest, 0), Self.maximumLength)
        let multiple = min(max(multiple, 1), Self.maximumLength)
        return (length + multiple - 1) / multiple * multiple
    }
}
