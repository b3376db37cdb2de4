import CPNG

/// The rows of a PNG. An interlaced picture is held as a whole, because its first pass already covers all of it.
final class PNGRows: RowSource {
    let channels: Int
    var hasOpacity: Bool { conversion.keepsOpacity }
    private let decoder: PNGDecoder
    private let region: Region
    private let conversion: PixelConversion
    private let bytesPerPixel: Int
    private let buffer: UnsafeMutablePointer<UInt8>
    private let converted: UnsafeMutablePointer<UInt8>
    private let stride: Int
    private let isWhole: Bool
    private var y = 0

    private static let batch = 8

    init(
        decoder: PNGDecoder, _ request: RowRequest, scratch: Scratch, isCancelled: () -> Bool
    ) throws(ImageError) {
        let (region, limits) = (request.region, request.limits)
        let header = decoder.header
        let width = Int(header.width)
        let height = Int(header.height)
        guard region.x.upperBound <= width, region.y.upperBound <= height, !region.x.isEmpty else {
            throw .corrupt("the PNG's size differs from its header")
        }
        self.decoder = decoder
        self.region = region
        bytesPerPixel = Int(header.channels)
        conversion = PixelConversion(
            channels: bytesPerPixel, hasAlpha: header.has_alpha != 0, gray: request.gray,
            background: request.background)
        channels = conversion.channels
        isWhole = header.passes > 1
        stride = (width * bytesPerPixel + 63) & ~63
        if isWhole {
            guard stride * height <= limits.maxBytes else {
                throw .tooMuchMemory(bytes: stride * height, limit: limits.maxBytes, reason: "it is interlaced")
            }
            buffer = try scratch.whole.reserve(stride * height)
            if decoder.toleratesTruncation { buffer.update(repeating: 0, count: stride * height) }
            for _ in 0..<header.passes {
                var row = 0
                while row < height {
                    if isCancelled() { throw .cancelled }
                    let count = min(64, height - row)
                    try decoder.read(buffer + row * stride, stride: stride, rows: count)
                    row += count
                }
            }
            converted = try scratch.rows.reserve(region.x.count * 4)
        } else {
            let converts = conversion.needsRoom ? region.x.count * 4 : 0
            buffer = try scratch.rows.reserve(stride * Self.batch + (converts + 64) * Self.batch)
            converted = buffer + stride * Self.batch
            while y < region.y.lowerBound {
                if isCancelled() { throw .cancelled }
                let count = min(Self.batch, region.y.lowerBound - y)
                try decoder.read(buffer, stride: stride, rows: count)
                y += count
            }
        }
    }

    func next() throws(ImageError) -> RowBatch? {
        if isWhole {
            y = max(y, region.y.lowerBound)
            guard y < region.y.upperBound else { return nil }
            let row = buffer + y * stride + region.x.lowerBound * bytesPerPixel
            y += 1
            return RowBatch(base: conversion.apply(row, count: region.x.count, room: converted), stride: 0, count: 1)
        }
        let count = min(Self.batch, region.y.upperBound - y)
        guard count > 0 else { return nil }
        // Missing rows are black, as for the other formats, or transparent.
        if decoder.toleratesTruncation { buffer.update(repeating: 0, count: stride * count) }
        try decoder.read(buffer, stride: stride, rows: count)
        y += count
        let first = buffer + region.x.lowerBound * bytesPerPixel
        guard conversion.needsRoom else {
            for row in 0..<count {
                _ = conversion.apply(first + row * stride, count: region.x.count, room: converted)
            }
            return RowBatch(base: first, stride: stride, count: count)
        }
        let convertedStride = region.x.count * 4
        for row in 0..<count {
            _ = conversion.apply(
                first + row * stride, count: region.x.count, room: converted + row * convertedStride)
        }
        return RowBatch(base: converted, stride: convertedStride, count: count)
    }
}
