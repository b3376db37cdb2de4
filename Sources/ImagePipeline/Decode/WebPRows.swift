import CWebP

/// A WebP's rows. libwebp decodes into memory of its caller's: the part of the picture that the region touches is held whole.
final class WebPRows: RowSource {
    let channels: Int
    private let region: Region
    private let conversion: PixelConversion
    private let base: UnsafeMutablePointer<UInt8>
    private let stride: Int
    private var y = 0

    /// Bytes offered to the decoder between two looks at the cancellation.
    private static let slice = 64 << 10

    /// `region` is in pixels of `frame`, when there is one.
    init(
        _ bytes: UnsafeRawBufferPointer, width: Int, height: Int, gray: Bool, background: RGBColor, region: Region,
        limits: ImageLimits, whole: Memory, isCancelled: () -> Bool
    ) throws(ImageError) {
        var header = cwebp_header()
        guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { throw .empty }
        try Self.check(cwebp_probe(start, bytes.count, &header), bytes.count)
        guard Int(header.width) == width, Int(header.height) == height, region.x.upperBound <= width,
            region.y.upperBound <= height, !region.x.isEmpty, !region.y.isEmpty
        else { throw .corrupt("a WebP whose headers contradict each other") }

        // From an even pixel, as chroma is stored for two by two; and with a margin, since chroma is smoothed.
        let left = max(0, region.x.lowerBound - 2) & ~1
        let top = max(0, region.y.lowerBound - 2) & ~1
        let right = min(width, region.x.upperBound + 2)
        let bottom = min(height, region.y.upperBound + 2)
        stride = (right - left) * 4
        let size = stride * (bottom - top)
        guard size <= limits.maxBytes else {
            throw .tooMuchMemory(bytes: size, limit: limits.maxBytes, reason: "a WebP is decoded whole")
        }
        let memory = try whole.reserve(size)
        guard
            let decoder = cwebp_create(
                UInt32(clamping: left), UInt32(clamping: top), UInt32(clamping: right - left),
                UInt32(clamping: bottom - top), memory, stride)
        else { throw .outOfMemory }
        defer { cwebp_destroy(decoder) }
        if limits.tolerateTruncation { memory.update(repeating: 0, count: size) }
        var offered = 0
        var status = CWEBP_MORE
        while offered < bytes.count, status == CWEBP_MORE {
            if isCancelled() { throw .cancelled }
            offered = min(bytes.count, offered + Self.slice)
            status = cwebp_update(decoder, start, offered)
        }
        if !(status == CWEBP_MORE && limits.tolerateTruncation) { try Self.check(status, bytes.count) }

        self.region = region
        base = memory + (region.y.lowerBound - top) * stride + (region.x.lowerBound - left) * 4
        conversion = PixelConversion(channels: 4, hasAlpha: header.has_alpha != 0, gray: gray, background: background)
        channels = conversion.channels
    }

    func next() throws(ImageError) -> RowBatch? {
        guard y < region.y.count else { return nil }
        let row = base + y * stride
        y += 1
        return RowBatch(base: conversion.apply(row, count: region.x.count, room: row), stride: stride, count: 1)
    }

    private static func check(_ status: cwebp_status, _ count: Int) throws(ImageError) {
        switch status {
        case CWEBP_OK: return
        case CWEBP_MORE: throw .truncated("the WebP ends at byte \(count), within its pixels")
        case CWEBP_NO_MEMORY: throw .outOfMemory
        case CWEBP_UNSUPPORTED: throw .corrupt("WebP: a feature that is not decoded")
        default: throw .corrupt("WebP: the data is damaged")
        }
    }
}
