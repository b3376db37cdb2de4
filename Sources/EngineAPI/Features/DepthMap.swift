/// A depth for each pixel of a picture as it is displayed: a model's map, enlarged linearly with its corners on the
/// picture's corners. Rows are computed when they are written; the enlarged map is never in memory.
public struct DepthMap: Sendable, Hashable {
    /// The size of the picture in pixels.
    public let width: Int, height: Int
    /// The smallest and the greatest depth of the model's map, in its unit; both are finite.
    public let minimum: Float, maximum: Float
    /// The model's map, row by row.
    private let columns: Int, rows: Int
    private let values: [Float]

    /// A map of `columns` times `rows` values for a picture of this size; nil if a size is not positive, the number of
    /// values is another one, or one is not finite.
    public init?(columns: Int, rows: Int, values: [Float], width: Int, height: Int) {
        let (count, overflow) = columns.multipliedReportingOverflow(by: rows)
        guard columns > 0, rows > 0, width > 0, height > 0, !overflow, values.count == count,
            values.allSatisfy(\.isFinite)
        else { return nil }
        (self.columns, self.rows, self.values) = (columns, rows, values)
        (self.width, self.height) = (width, height)
        (minimum, maximum) = (values.min() ?? 0, values.max() ?? 0)
    }

    /// Writes the depths of a row of the picture.
    /// - Parameter destination: `width` numbers.
    public func write(row: Int, into destination: UnsafeMutableBufferPointer<Float>) {
        guard destination.count >= width, row >= 0, row < height else { return }
        let down = Self.place(row, of: height, in: rows)
        values.withUnsafeBufferPointer { values in
            let upper = values[(down.cell * columns)...], lower = values[(down.next * columns)...]
            for column in 0..<width {
                let across = Self.place(column, of: width, in: columns)
                func mix(_ line: Slice<UnsafeBufferPointer<Float>>) -> Float {
                    let left = line[line.startIndex + across.cell], right = line[line.startIndex + across.next]
                    return left + (right - left) * across.part
                }
                let top = mix(upper)
                destination[column] = top + (mix(lower) - top) * down.part
            }
        }
    }

    /// The cells on both sides of a pixel, and its position between them, 0 to 1: the first pixel lies on the first
    /// cell, the last pixel on the last cell.
    private static func place(_ pixel: Int, of length: Int, in cells: Int) -> (cell: Int, next: Int, part: Float) {
        guard length > 1 else { return (0, 0, 0) }
        let place = Double(pixel) * Double(cells - 1) / Double(length - 1), cell = min(Int(place), cells - 1)
        return (cell, min(cell + 1, cells - 1), Float(place - Double(cell)))
    }

    /// Depths of a grid of `side` times `side` pixels over the picture, for comparisons of two maps.
    package func samples(side: Int) -> [Float] {
        var samples: [Float] = []
        let line = UnsafeMutableBufferPointer<Float>.allocate(capacity: width)
        defer { line.deallocate() }
        line.initialize(repeating: 0)
        for row in 0..<side {
            write(row: (2 * row + 1) * height / (2 * side), into: line)
            for column in 0..<side { samples.append(line[(2 * column + 1) * width / (2 * side)]) }
        }
        return samples
    }

    /// The depth as a share of the range from ``minimum`` to ``maximum``, in 65,535 steps; 0 in a map of one depth.
    func step(_ depth: Float) -> UInt16 {
        let range = Double(maximum) - Double(minimum)
        guard range > 0 else { return 0 }
        let share = (Double(depth) - Double(minimum)) / range
        return UInt16(min(max(share, 0), 1) * 65_535 + 0.5)
    }

    /// Writes a row as 16-bit numbers in big-endian order, as in PNG: depth = minimum + (maximum - minimum) * number /
    /// 65535.
    /// - Parameters:
    ///   - line: `2 * width` bytes.
    ///   - depths: memory for `width` numbers.
    package func write(
        row: Int, steps line: UnsafeMutableBufferPointer<UInt8>, through depths: UnsafeMutableBufferPointer<Float>
    ) {
        write(row: row, into: depths)
        for column in 0..<min(width, line.count / 2) {
            let step = step(depths[column])
            line[2 * column] = UInt8(truncatingIfNeeded: step >> 8)
            line[2 * column + 1] = UInt8(truncatingIfNeeded: step)
        }
    }
}
