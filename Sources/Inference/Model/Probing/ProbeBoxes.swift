/// Made-up boxes. On the grid they come in pairs that do not overlap each other: the second box of a pair shares three
/// sides with the first, and its width is a multiple of a twentieth, so that the overlap (intersection over union)
/// equals a usual threshold exactly.
enum ProbeBoxes {
    /// The order of the pairs on the grid: files with few boxes have only the first ones.
    enum Grid { case forwards, backwards }

    /// The widths of second boxes in twentieths: 0.5, 0.45, 0.4, 0.6, 0.7, 0.3, 0.75, 0.25.
    private static let widths = [10, 9, 8, 12, 14, 6, 15, 5]
    /// The distance between pairs, in elements of a picture.
    private static let distance = 24

    /// Fills a tensor of which each row is a box: two corners, after the index 0 if it has five columns.
    static func fill(_ tensor: any EngineTensor, columns: Int, grid: Grid?) {
        let size = tensor.elementType.byteCount
        guard size > 0, columns >= 4 else { return }
        let rows = tensor.bytes.count / size / columns
        for row in 0..<rows {
            let box = grid.map { onGrid(row, $0) } ?? between(row)
            let values = (columns == 5 ? [0] : []) + box
            for (column, value) in values.enumerated() {
                ElementConversion.write(value, at: row * columns + column, as: tensor.elementType, to: tensor.bytes)
            }
        }
    }

    private static func onGrid(_ row: Int, _ grid: Grid) -> [Double] {
        let pair = row / 2, place = pair % widths.count
        let x = Double(pair % 64 * distance), y = Double(pair / 64 * distance), height = Double(4 + pair % 5 * 2)
        let width = row % 2 == 0 ? 20 : Double(widths[grid == .forwards ? place : widths.count - 1 - place])
        return [x, y, x + width, y + height]
    }

    private static func between(_ row: Int) -> [Double] {
        func part(_ factor: Double) -> Double { (Double(row + 1) * factor).truncatingRemainder(dividingBy: 1) }
        let x = 12 * part(0.618_034), y = 12 * part(0.754_878)
        return [x, y, x + 1 + 14 * part(0.569_840), y + 1 + 14 * part(0.819_173)]
    }
}
