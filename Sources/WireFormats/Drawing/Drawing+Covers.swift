package import ImagePipeline
package import Observations

extension Drawing {
    /// The way to cover a find, by the name of the parameter.
    package enum Cover: String, Sendable, Hashable {
        /// Flat blocks, at most 8 in each direction.
        case blur
        /// Solid black.
        case fill
    }

    /// The margin that is covered around a box, as a share of its sides.
    private static let around = 0.1
    /// The maximum number of blocks of a blur in each direction.
    private static let maximumBlocks = 8
    /// The minimum side of a block in pixels: smaller blocks would leave a small find recognizable.
    private static let minimumBlock = 4

    /// Covers a box, grown by a tenth on each side.
    package mutating func cover(_ box: PictureMap.Rectangle, as cover: Cover) {
        let x = Self.pixels(box.x - box.width * Self.around, box.x + box.width * (1 + Self.around), maximum: width)
        let y = Self.pixels(box.y - box.height * Self.around, box.y + box.height * (1 + Self.around), maximum: height)
        switch cover {
        case .fill: fill(x.lowerBound, y.lowerBound, x.upperBound, y.upperBound, (0, 0, 0))
        case .blur:
            for rows in Self.blocks(y) { for columns in Self.blocks(x) { flatten(columns, rows) } }
        }
    }

    /// The pixels that a part of an axis touches; all of them if `start` or `end` is not finite.
    private static func pixels(_ start: Double, _ end: Double, maximum: Int) -> Range<Int> {
        guard start.isFinite, end.isFinite else { return 0..<maximum }
        let first = Int(min(max(start.rounded(.down), 0), Double(maximum)))
        return first..<Int(min(max(end.rounded(.up), Double(first)), Double(maximum)))
    }

    private static func blocks(_ pixels: Range<Int>) -> [Range<Int>] {
        let count = min(maximumBlocks, max(1, pixels.count / minimumBlock))
        return (0..<count).map { index in
            pixels.lowerBound + pixels.count * index / count..<pixels.lowerBound + pixels.count * (index + 1) / count
        }
    }

    /// Gives all pixels of a block their mean.
    private mutating func flatten(_ columns: Range<Int>, _ rows: Range<Int>) {
        guard !columns.isEmpty, !rows.isEmpty else { return }
        var sum = SIMD4<Int>()
        for row in rows {
            for column in columns {
                let place = 3 * (row * width + column)
                sum &+= SIMD4(Int(pixels[place]), Int(pixels[place + 1]), Int(pixels[place + 2]), 0)
            }
        }
        let count = columns.count * rows.count
        func mean(_ sum: Int) -> UInt8 { UInt8(clamping: (sum + count / 2) / count) }
        fill(
            columns.lowerBound, rows.lowerBound, columns.upperBound, rows.upperBound,
            (mean(sum.x), mean(sum.y), mean(sum.z)))
    }

    /// Encodes a box of the picture as a PNG; nil if the box lies outside the picture.
    package func cut(_ box: PictureMap.Rectangle) throws(ImageError) -> [UInt8]? {
        let x = Self.pixels(box.x, box.x + box.width, maximum: width),
            y = Self.pixels(box.y, box.y + box.height, maximum: height)
        guard !x.isEmpty, !y.isEmpty else { return nil }
        var part: [UInt8] = []
        part.reserveCapacity(3 * x.count * y.count)
        for row in y { part += pixels[3 * (row * width + x.lowerBound)..<3 * (row * width + x.upperBound)] }
        let result = part.withUnsafeBytes { raw -> Result<[UInt8], ImageError> in
            Result { () throws(ImageError) in
                try PNGEncoder.encode(width: x.count, height: y.count, channels: 3, pixels: raw)
            }
        }
        return try result.get()
    }

    /// Encodes the picture as a JPEG or PNG file.
    /// - Throws: `cancelled`, `outOfMemory`; `sideTooLong` for a JPEG.
    package func encoded(isJPEG: Bool, isCancelled: () -> Bool) throws(ImageError) -> [UInt8] {
        let result = pixels.withUnsafeBytes { raw -> Result<[UInt8], ImageError> in
            Result { () throws(ImageError) in
                try isJPEG
                    ? JPEGEncoder.encode(width: width, height: height, pixels: raw, isCancelled: isCancelled)
                    : PNGEncoder.encode(
                        width: width, height: height, channels: 3, pixels: raw, isCancelled: isCancelled)
            }
        }
        return try result.get()
    }
}
