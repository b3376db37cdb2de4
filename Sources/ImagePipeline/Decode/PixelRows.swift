/// The rows of a decoded picture, or of a part of it. They are copied if composition with the background or conversion
/// to gray changes them.
final class PixelRows: RowSource {
    let channels: Int
    var hasOpacity: Bool { conversion.keepsOpacity }
    private let image: PixelImage
    private let window: PictureWindow
    private let region: Region
    private let conversion: PixelConversion
    private let row: UnsafeMutablePointer<UInt8>
    private var y: Int

    /// - Parameters:
    ///   - window: the part; nil for the whole picture.
    ///   - region: the needed pixels of the part.
    init(
        _ image: PixelImage, window: PictureWindow? = nil, gray: Bool, background: RGBColor?, region: Region,
        memory: Memory
    ) throws(ImageError) {
        let window = window ?? PictureWindow(width: image.info.width, height: image.info.height)
        guard region.x.lowerBound >= 0, region.y.lowerBound >= 0, region.x.upperBound <= window.width,
            region.y.upperBound <= window.height, !region.x.isEmpty
        else { throw .corrupt("the picture's size differs from its header") }
        self.image = image
        self.window = window
        self.region = region
        conversion = PixelConversion(channels: 4, hasAlpha: image.hasAlpha, gray: gray, background: background)
        channels = conversion.channels
        row = try memory.reserve(region.x.count * 4)
        y = region.y.lowerBound
    }

    func next() throws(ImageError) -> RowBatch? {
        guard y < region.y.upperBound else { return nil }
        if let base = borrowedRow(window.y + y) {
            y += 1
            return RowBatch(base: base, stride: 0, count: 1)
        }
        copyRow(window.y + y)
        y += 1
        return RowBatch(base: conversion.apply(row, count: region.x.count, room: row), stride: 0, count: 1)
    }

    /// The region's pixels of a row in place; nil if some are outside the picture, would change, or are followed by
    /// less memory than whole vectors read.
    private func borrowedRow(_ line: Int) -> UnsafePointer<UInt8>? {
        let first = window.x + region.x.lowerBound, end = first + region.x.count
        guard !conversion.changes, first >= 0, end <= image.info.width, (0..<image.info.height).contains(line),
            (image.info.height - line) * image.info.width - end >= Memory.slack / 4
        else { return nil }
        return (image.pixels + (line * image.info.width + first) * 4).assumingMemoryBound(to: UInt8.self)
    }

    /// Copies the region's pixels of a row; pixels outside the picture are black.
    private func copyRow(_ line: Int) {
        let target = UnsafeMutableRawPointer(row), count = region.x.count
        let first = window.x + region.x.lowerBound, end = first + count
        let inside = max(0, first)..<max(max(0, first), min(image.info.width, end))
        guard (0..<image.info.height).contains(line), !inside.isEmpty else {
            blacken(0..<count)
            return
        }
        target.advanced(by: (inside.lowerBound - first) * 4).copyMemory(
            from: image.pixels + (line * image.info.width + inside.lowerBound) * 4, byteCount: inside.count * 4)
        blacken(0..<inside.lowerBound - first)
        blacken(inside.upperBound - first..<count)
    }

    private func blacken(_ columns: Range<Int>) {
        let pixels = UnsafeMutableRawPointer(row)
        for column in columns {
            pixels.storeBytes(of: SIMD4<UInt8>(0, 0, 0, 255), toByteOffset: column * 4, as: SIMD4<UInt8>.self)
        }
    }
}
