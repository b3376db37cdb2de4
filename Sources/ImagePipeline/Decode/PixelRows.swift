/// The rows of a picture whose pixels are there. They are copied, because composing with the background changes them.
final class PixelRows: RowSource {
    let channels: Int
    var hasOpacity: Bool { conversion.keepsOpacity }
    private let image: PixelImage
    private let region: Region
    private let conversion: PixelConversion
    private let row: UnsafeMutablePointer<UInt8>
    private var y: Int

    init(
        _ image: PixelImage, gray: Bool, background: RGBColor?, region: Region, memory: Memory
    ) throws(ImageError) {
        guard region.x.lowerBound >= 0, region.y.lowerBound >= 0, region.x.upperBound <= image.info.width,
            region.y.upperBound <= image.info.height, !region.x.isEmpty
        else { throw .corrupt("the picture's size differs from its header") }
        self.image = image
        self.region = region
        conversion = PixelConversion(channels: 4, hasAlpha: image.hasAlpha, gray: gray, background: background)
        channels = conversion.channels
        row = try memory.reserve(region.x.count * 4)
        y = region.y.lowerBound
    }

    func next() throws(ImageError) -> RowBatch? {
        guard y < region.y.upperBound else { return nil }
        let start = (y * image.info.width + region.x.lowerBound) * 4
        UnsafeMutableRawPointer(row).copyMemory(from: image.pixels + start, byteCount: region.x.count * 4)
        y += 1
        return RowBatch(base: conversion.apply(row, count: region.x.count, room: row), stride: 0, count: 1)
    }
}
