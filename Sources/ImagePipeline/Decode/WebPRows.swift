import CWebP

/// The rows of a WebP. libwebp decodes into the caller's memory: the part of the picture that the region touches is
/// held as a whole.
final class WebPRows: RowSource {
    let channels: Int
    var hasOpacity: Bool { conversion.keepsOpacity }
    private let region: Region
    private let conversion: PixelConversion
    private let base: UnsafeMutablePointer<UInt8>
    private let stride: Int
    private var y = 0

    /// The number of bytes given to the decoder between two checks for cancellation: about 2 megapixels if the bytes
    /// are spread evenly.
    private static func slice(of count: Int, pixels: Int) -> Int {
        let (share, overflow) = count.multipliedReportingOverflow(by: 2 << 20)
        return max(256, min(64 << 10, overflow ? .max : share / max(1, pixels)))
    }

    /// - Parameters:
    ///   - bytes: those of the picture; for an animation, those of its first frame.
    ///   - headerInfo: the size of the canvas, the frame's place on it, and the offset of the pixels in `bytes`: the
    ///     decoder searches all bytes before them each time it gets more.
    init(
        _ bytes: UnsafeRawBufferPointer, header headerInfo: PictureHeader, _ request: RowRequest, whole: Memory,
        isCancelled: () -> Bool
    ) throws(ImageError) {
        let (canvas, frame) = ((width: headerInfo.info.width, height: headerInfo.info.height), headerInfo.frame)
        let (region, limits) = (request.region, request.limits)
        var header = cwebp_header()
        guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { throw .empty }
        try Self.check(cwebp_probe(start, bytes.count, &header), bytes.count)
        let width = Int(header.width)
        let height = Int(header.height)
        let place = Area(x: frame?.x ?? 0, y: frame?.y ?? 0, width: width, height: height)
        guard width == frame?.width ?? canvas.width, height == frame?.height ?? canvas.height,
            place.right <= canvas.width, place.bottom <= canvas.height, region.x.upperBound <= canvas.width,
            region.y.upperBound <= canvas.height, !region.x.isEmpty, !region.y.isEmpty
        else { throw .corrupt("the WebP headers contradict each other") }

        let fillsCanvas = place.width == canvas.width && place.height == canvas.height
        // The held area. If a frame leaves some of the canvas free: the canvas. Otherwise: the pixels that the region
        // touches, from an even pixel (chroma is stored per 2 x 2 pixels) and with a margin (chroma is smoothed).
        let held =
            fillsCanvas
            ? Area(around: region, within: canvas) : Area(x: 0, y: 0, width: canvas.width, height: canvas.height)
        stride = held.width * 4
        let size = stride * held.height
        guard size <= limits.maxBytes else {
            throw .tooMuchMemory(bytes: size, limit: limits.maxBytes, reason: "a WebP is decoded whole")
        }
        let memory = try whole.reserve(size)
        // Pixels that are not decoded are transparent.
        if limits.tolerateTruncation || !fillsCanvas { memory.update(repeating: 0, count: size) }
        let decoder =
            fillsCanvas
            ? cwebp_create(
                UInt32(clamping: held.x), UInt32(clamping: held.y), UInt32(clamping: held.width),
                UInt32(clamping: held.height), memory, stride)
            : cwebp_create(
                0, 0, UInt32(clamping: width), UInt32(clamping: height), memory + place.y * stride + place.x * 4, stride
            )
        guard let decoder else { throw .outOfMemory }
        defer { cwebp_destroy(decoder) }
        var offered = headerInfo.pixels
        var status = CWEBP_MORE
        let slice = Self.slice(of: bytes.count, pixels: width * height)
        while offered < bytes.count, status == CWEBP_MORE {
            if isCancelled() { throw .cancelled }
            offered = min(bytes.count, offered + slice)
            status = cwebp_update(decoder, start, offered)
        }
        let isWhole = status == CWEBP_OK
        if !(limits.tolerateTruncation && status == CWEBP_MORE) { try Self.check(status, bytes.count) }

        base = memory + (region.y.lowerBound - held.y) * stride + (region.x.lowerBound - held.x) * 4
        let hasAlpha = header.has_alpha != 0 || !fillsCanvas || !isWhole
        conversion = PixelConversion(
            channels: 4, hasAlpha: hasAlpha, gray: request.gray, background: request.background)
        channels = conversion.channels
        self.region = region
    }

    /// A rectangle of pixels.
    private struct Area {
        let x: Int
        let y: Int
        let width: Int
        let height: Int

        var right: Int { x + width }
        var bottom: Int { y + height }

        init(x: Int, y: Int, width: Int, height: Int) {
            self.x = x
            self.y = y
            self.width = width
            self.height = height
        }

        init(around region: Region, within canvas: (width: Int, height: Int)) {
            x = max(0, region.x.lowerBound - 2) & ~1
            y = max(0, region.y.lowerBound - 2) & ~1
            width = min(canvas.width, region.x.upperBound + 2) - x
            height = min(canvas.height, region.y.upperBound + 2) - y
        }
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
        case CWEBP_UNSUPPORTED: throw .corrupt("WebP: unsupported feature")
        default: throw .corrupt("WebP: the data is damaged")
        }
    }
}
