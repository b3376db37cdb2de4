/// A class for each pixel of the displayed picture, computed row by row: the whole mask is never in memory.
package struct PictureMask: Sendable {
    package let width: Int, height: Int
    /// The class number of pixels that the model did not see, because they were cropped.
    package let unseen: UInt16
    /// The size of a pixel in bytes: 2 above 256 classes.
    package let bytes: Int
    private let map: ClassMap, x: GridAxis, y: GridAxis

    package init(_ map: ClassMap, in picture: PictureMap) {
        self.map = map
        (width, height) = (picture.x.length, picture.y.length)
        bytes = map.classes > 256 ? 2 : 1
        unseen = map.classes > 256 ? .max : map.classes == 256 ? 0 : 255
        x = GridAxis(picture.x, cells: map.width, side: map.tensorWidth)
        y = GridAxis(picture.y, cells: map.height, side: map.tensorHeight)
    }

    /// Writes the class numbers of a row: one byte each, or two in big-endian order, as in PNG.
    /// - Parameter destination: `width * bytes` bytes.
    package func write(row: Int, into destination: UnsafeMutableBufferPointer<UInt8>) {
        guard destination.count >= width * bytes, y.cells.indices.contains(row) else { return }
        func set(_ columns: Range<Int>, _ value: UInt16) {
            for column in columns {
                if bytes == 1 {
                    destination[column] = UInt8(truncatingIfNeeded: value)
                } else {
                    destination[2 &* column] = UInt8(truncatingIfNeeded: value >> 8)
                    destination[2 &* column &+ 1] = UInt8(truncatingIfNeeded: value)
                }
            }
        }
        let line = Int(y.cells[row])
        guard line >= 0 else { return set(0..<width, unseen) }
        set(0..<x.seen.lowerBound, unseen)
        for span in x.spans {
            if let value = map.onlyClass(column: span.cell, row: line) {
                set(span.pixels, value)
                continue
            }
            for column in span.pixels {
                set(
                    column..<column + 1,
                    map.number(column: span.cell, row: line, x: x.parts[column], y: y.parts[row]))
            }
        }
        set(x.seen.upperBound..<width, unseen)
    }

    /// The number of pixels of each class.
    package func areas(isCancelled: () -> Bool = { false }) throws(ObservationError) -> [Int] {
        var areas = [Int](repeating: 0, count: map.classes)
        func count(_ value: UInt16, _ pixels: Int) {
            if Int(value) < areas.count { areas[Int(value)] += pixels }
        }
        for down in y.spans {
            if isCancelled() { throw .cancelled }
            for across in x.spans {
                if let value = map.onlyClass(column: across.cell, row: down.cell) {
                    count(value, across.pixels.count * down.pixels.count)
                    continue
                }
                for row in down.pixels {
                    for column in across.pixels {
                        count(
                            map.number(column: across.cell, row: down.cell, x: x.parts[column], y: y.parts[row]), 1)
                    }
                }
            }
        }
        return areas
    }

    /// The run lengths of the requested classes, by class.
    /// - Parameter maximum: the maximum number of runs of all classes together; nil is returned if there are more.
    package func runLengths(
        of requestedClasses: Set<Int>, maximum: Int, isCancelled: () -> Bool = { false }
    ) throws(ObservationError) -> [Int: RunLengths]? {
        var runs = [RunLengths?](repeating: nil, count: map.classes)
        for value in requestedClasses where runs.indices.contains(value) {
            runs[value] = RunLengths(width: width, height: height)
        }
        var total = 0
        func add(_ value: UInt16, _ column: Int, _ rows: Range<Int>) {
            let value = Int(value)
            guard value < runs.count, runs[value] != nil else { return }
            let before = runs[value]?.counts.count ?? 0
            runs[value]?.add(column: column, rows: rows)
            total += (runs[value]?.counts.count ?? 0) - before
        }
        for across in x.spans {
            for column in across.pixels {
                if column & 63 == 0, isCancelled() { throw .cancelled }
                for down in y.spans {
                    if let value = map.onlyClass(column: across.cell, row: down.cell) {
                        add(value, column, down.pixels)
                        continue
                    }
                    for row in down.pixels {
                        add(
                            map.number(column: across.cell, row: down.cell, x: x.parts[column], y: y.parts[row]),
                            column, row..<row + 1)
                    }
                }
                if total > maximum { return nil }
            }
        }
        var result: [Int: RunLengths] = [:]
        for value in requestedClasses where runs.indices.contains(value) {
            runs[value]?.close()
            result[value] = runs[value]
        }
        return result
    }
}

/// The positions of one axis's pixels relative to the centers of a grid's cells.
private struct GridAxis: Sendable {
    /// For each pixel, the last cell with its center before that of the pixel, or the first cell; -1 outside the
    /// tensor.
    private(set) var cells: [Int32]
    /// The relative position of the pixel's center between the center of that cell and the next one, 0 to 1.
    private(set) var parts: [Float]
    /// Consecutive pixels with the same cell.
    private(set) var spans: [(cell: Int, pixels: Range<Int>)] = []
    /// The pixels that the tensor covers.
    private(set) var seen = 0..<0

    init(_ axis: AxisMap, cells count: Int, side: Int) {
        let length = max(0, axis.length)
        cells = [Int32](repeating: -1, count: length)
        parts = [Float](repeating: 0, count: length)
        for pixel in 0..<length {
            let middle = Double(pixel) + 0.5
            guard axis.seen.contains(middle) else { continue }
            let place = axis.tensor(middle) * Double(count) / Double(side) - 0.5
            let inside = min(max(place, 0), Double(count - 1)), cell = Int(inside)
            cells[pixel] = Int32(truncatingIfNeeded: cell)
            parts[pixel] = Float(inside - Double(cell))
            if let last = spans.last, last.cell == cell {
                spans[spans.count - 1].pixels = last.pixels.lowerBound..<pixel + 1
            } else {
                spans.append((cell, pixel..<pixel + 1))
            }
        }
        seen = (spans.first?.pixels.lowerBound ?? length)..<(spans.last?.pixels.upperBound ?? length)
    }
}
