/// A line of text in a picture.
package struct TextLine: Sendable, Hashable {
    package let text: String
    /// The mean confidence of its characters, 0 to 1; 0 without any.
    package let confidence: Float
    /// The corners, clockwise as seen, the first where reading begins, then along the text.
    package var corners: [PlanePoint]
    /// The position of its region among those of the picture.
    package var region = 0
    /// The number of quarter turns, counterclockwise, that made the region's text upright.
    package var quarterTurns = 0
    /// The characters in the order of the text; the middle of each is a share of the line's length.
    package let characters: [TextCharacter]

    package init(_ characters: [TextCharacter], corners: [PlanePoint]) {
        self.characters = characters
        self.corners = corners
        text = characters.map(\.text).joined()
        let sum = characters.reduce(0) { $0 + $1.confidence }
        confidence = characters.isEmpty ? 0 : sum / Float(characters.count)
    }

    /// A place with text that was not read.
    package init(score: Float, corners: [PlanePoint]) {
        self.corners = corners
        (text, confidence, characters) = ("", score, [])
    }

    /// True if it has only blanks.
    package var isBlank: Bool { text.allSatisfy(\.isWhitespace) }

    /// The corners of a character: it reaches to the middle between it and its neighbours.
    package func corners(ofCharacter index: Int) -> [PlanePoint] {
        guard corners.count == 4, characters.indices.contains(index) else { return [] }
        let middle = characters[index].middle
        let before = index > 0 ? characters[index - 1].middle : nil
        let after = index + 1 < characters.count ? characters[index + 1].middle : nil
        let half = ((after ?? middle) - (before ?? middle)) / (before == nil || after == nil ? 2 : 4)
        let start = max(0, before.map { ($0 + middle) / 2 } ?? middle - half)
        let end = min(1, after.map { ($0 + middle) / 2 } ?? middle + half)
        func place(_ from: PlanePoint, _ to: PlanePoint, _ share: Double) -> PlanePoint { from + (to - from) * share }
        return [
            place(corners[0], corners[1], start), place(corners[0], corners[1], end),
            place(corners[3], corners[2], end), place(corners[3], corners[2], start),
        ]
    }
}

/// The text of a picture.
package struct PageText: Sendable, Hashable {
    /// The lines in reading order.
    package private(set) var lines: [TextLine]
    /// The texts of the lines; those of a row are joined by spaces, rows by line feeds.
    package let text: String
    /// The number of regions that were left out because of a limit.
    package var skipped: Int

    /// The text at other places.
    package func moved(_ move: (PlanePoint) -> PlanePoint) -> PageText {
        var moved = self
        for index in lines.indices { moved.lines[index].corners = lines[index].corners.map(move) }
        return moved
    }

    /// Places with text that were not read, in no order.
    package init(unread lines: [TextLine]) { (self.lines, text, skipped) = (lines, "", 0) }

    /// Orders lines.
    /// - Parameter maximum: the number of lines to keep, the most confident; nil for all.
    package init(_ lines: [TextLine], maximum: Int? = nil, skipped: Int = 0) {
        var kept = Array(lines.indices)
        if let maximum, kept.count > maximum {
            kept.sort { (lines[$1].confidence, $0) < (lines[$0].confidence, $1) }
            kept = kept.prefix(maximum).sorted()
        }
        let rows = ReadingOrder.rows(kept.map { lines[$0].corners })
        self.lines = rows.flatMap { row in row.map { lines[kept[$0]] } }
        text = ReadingOrder.text(rows, kept.map { lines[$0].text })
        self.skipped = skipped
    }
}
