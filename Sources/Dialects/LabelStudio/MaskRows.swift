package import Observations

/// Run lengths of masks row by row, as brushes have them: alternating runs out of the mask and in it, beginning with
/// those out of it.
package struct MaskRows {
    private let width: Int, height: Int
    private var left: Int
    private var masks: [Int: (runs: [Int], end: Int)] = [:]

    /// - Parameter maximum: the maximum number of runs of all masks together; what comes after them is out of all
    ///   masks.
    package init(width: Int, height: Int, maximum: Int) {
        (self.width, self.height, left) = (width, height, maximum)
    }

    /// Adds a row of numbers; rows must be added in order.
    /// - Parameters:
    ///   - line: a number for each pixel, big-endian.
    ///   - bytes: the length of a number, 1 or 2.
    package mutating func add(row: Int, _ line: [UInt8], bytes: Int) {
        guard line.count >= width * bytes else { return }
        func number(_ column: Int) -> Int {
            bytes == 1 ? Int(line[column]) : Int(line[2 * column]) << 8 | Int(line[2 * column + 1])
        }
        var column = 0
        while column < width {
            let value = number(column)
            var end = column + 1
            while end < width, number(end) == value { end += 1 }
            add(value, row * width + column..<row * width + end)
            column = end
        }
    }

    private mutating func add(_ value: Int, _ pixels: Range<Int>) {
        var mask = masks[value] ?? ([], 0)
        // Without this line the dictionary would hold the runs too, and each change would copy them.
        masks[value] = nil
        if mask.end == pixels.lowerBound, let last = mask.runs.indices.last {
            mask.runs[last] += pixels.count
            mask.end = pixels.upperBound
        } else if left >= 2 {
            mask.runs.append(pixels.lowerBound - mask.end)
            mask.runs.append(pixels.count)
            mask.end = pixels.upperBound
            left -= 2
        }
        masks[value] = mask
    }

    /// The runs of each number, in the order of the numbers.
    package var finished: [(number: Int, runs: [Int])] {
        masks.sorted { $0.key < $1.key }.map { number, mask in
            (number, mask.end < width * height ? mask.runs + [width * height - mask.end] : mask.runs)
        }
    }

    /// The runs of a mask that goes down the columns; nil if there are more than `maximum`.
    package static func runs(of mask: RunLengths, maximum: Int) -> [Int]? {
        let (width, height) = (mask.width, mask.height)
        guard width > 0, height > 0 else { return [] }
        var pixels = [UInt8](repeating: 0, count: width * height)
        var place = 0
        for (index, count) in mask.counts.enumerated() {
            let end = min(place + Int(count), pixels.count)
            if index & 1 == 1 {
                for number in place..<end { pixels[number % height * width + number / height] = 1 }
            }
            place = end
        }
        var rows = MaskRows(width: width * height, height: 1, maximum: maximum)
        rows.add(row: 0, pixels, bytes: 1)
        guard rows.left >= 2 else { return nil }
        return rows.finished.first { $0.number == 1 }?.runs
    }
}
