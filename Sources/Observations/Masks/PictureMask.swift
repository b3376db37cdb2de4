/// A class for each pixel of the displayed picture, computed row by row: the whole is never in memory.
package struct PictureMask: Sendable {
    package let width: Int, height: Int
    /// The number of pixels that the model did not see: what a crop cut off.
    package let unseen: UInt16
    /// Bytes of a pixel: 2 above 256 classes.
    package let bytes: Int
    private let map: ClassMap
    private let columns: [Int32], rows: [Int32]

    /// The map laid over the picture.
    package init(_ map: ClassMap, in picture: PictureMap) {
        self.map = map
        width = picture.x.length
        height = picture.y.length
        bytes = map.classes > 256 ? 2 : 1
        unseen = map.classes > 256 ? .max : map.classes == 256 ? 0 : 255
        columns = picture.x.cells(map.width, side: map.tensorWidth)
        rows = picture.y.cells(map.height, side: map.tensorHeight)
    }

    /// Whether a row is the same as the one above.
    package func repeatsRow(_ row: Int) -> Bool { row > 0 && rows[row] == rows[row - 1] }

    /// Writes the class numbers of a row: one byte each, or two with the high one first, as PNG has them.
    /// - Parameter destination: `width * bytes` bytes.
    package func write(row: Int, into destination: UnsafeMutableBufferPointer<UInt8>) {
        guard destination.count >= width * bytes, rows.indices.contains(row) else { return }
        let line = Int(rows[row])
        for column in 0..<width {
            let value = number(Int(columns[column]), line)
            if bytes == 1 {
                destination[column] = UInt8(truncatingIfNeeded: value)
            } else {
                destination[2 &* column] = UInt8(truncatingIfNeeded: value >> 8)
                destination[2 &* column &+ 1] = UInt8(truncatingIfNeeded: value)
            }
        }
    }

    @inline(__always)
    private func number(_ column: Int, _ row: Int) -> UInt16 {
        column < 0 || row < 0 ? unseen : map.values[row &* map.width &+ column]
    }

    /// The number of pixels of each class.
    package var areas: [Int] {
        var across = [Int](repeating: 0, count: map.width), down = [Int](repeating: 0, count: map.height)
        for column in columns where column >= 0 { across[Int(column)] += 1 }
        for row in rows where row >= 0 { down[Int(row)] += 1 }
        var areas = [Int](repeating: 0, count: map.classes)
        for row in 0..<map.height where down[row] > 0 {
            for column in 0..<map.width {
                let value = Int(map.values[row &* map.width &+ column])
                if value < areas.count { areas[value] += across[column] * down[row] }
            }
        }
        return areas
    }

    /// The run lengths of the classes that are asked for, by class.
    /// - Parameter most: the runs of all together; nil is the answer where there would be more.
    package func runLengths(
        of wanted: Set<Int>, most: Int, isCancelled: () -> Bool = { false }
    ) throws(ObservationError) -> [Int: RunLengths]? {
        var runs = [RunLengths?](repeating: nil, count: map.classes)
        for value in wanted where runs.indices.contains(value) {
            runs[value] = RunLengths(width: width, height: height)
        }
        // Where the cells of a column begin and end, in pixels.
        var segments: [(cell: Int, rows: Range<Int>)] = []
        for (pixel, row) in rows.enumerated() where row >= 0 {
            if let last = segments.last, last.cell == Int(row) {
                segments[segments.count - 1].rows = last.rows.lowerBound..<pixel + 1
            } else {
                segments.append((Int(row), pixel..<pixel + 1))
            }
        }
        var total = 0
        for column in 0..<width where columns[column] >= 0 {
            if column & 63 == 0, isCancelled() { throw .cancelled }
            for (cell, rows) in segments {
                let value = Int(number(Int(columns[column]), cell))
                guard value < runs.count, runs[value] != nil else { continue }
                let before = runs[value]?.counts.count ?? 0
                runs[value]?.add(column: column, rows: rows)
                total += (runs[value]?.counts.count ?? 0) - before
            }
            if total > most { return nil }
        }
        var result: [Int: RunLengths] = [:]
        for value in wanted where runs.indices.contains(value) {
            runs[value]?.close()
            result[value] = runs[value]
        }
        return result
    }
}
