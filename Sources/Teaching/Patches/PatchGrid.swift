/// The patches of an embedder's pictures: a grid, with a vector for each of its cells.
package struct PatchGrid: Sendable, Hashable {
    package let rows: Int, columns: Int
    /// The number of elements of a vector.
    package let width: Int

    /// Fails for a number that is not positive, and for more than `maximum` elements.
    package init?(rows: Int, columns: Int, width: Int) {
        guard (1...Self.maximum).contains(rows), (1...Self.maximum).contains(columns),
            (1...Self.maximum).contains(width)
        else { return nil }
        let (cells, isWide) = rows.multipliedReportingOverflow(by: columns)
        let (elements, isLarge) = cells.multipliedReportingOverflow(by: width)
        guard !isWide, !isLarge, elements <= Self.maximum else { return nil }
        (self.rows, self.columns, self.width) = (rows, columns, width)
    }

    /// The greatest number of elements of all vectors of a picture.
    private static let maximum = 1 << 24

    /// The number of patches of a picture.
    package var count: Int { rows * columns }
}
