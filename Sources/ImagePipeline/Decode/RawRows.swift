import CResample

/// The rows of a raw frame. They are read in place; rows in other orders of bytes than the resampler's, with chroma or
/// with opacity, are converted one by one.
final class RawRows: RowSource {
    let channels: Int
    var hasOpacity: Bool { conversion.keepsOpacity }
    private let bytes: UnsafeRawBufferPointer
    private let frame: RawFrame
    private let region: Region
    private let conversion: PixelConversion
    private let isGray: Bool
    private let row: UnsafeMutablePointer<UInt8>
    private let factors: cresample_yuv
    private var y: Int

    /// The variant of the loops for this processor, determined once.
    private static let level = cresample_best()

    /// - Parameter bytes: of a length that the frame may have.
    init(
        _ bytes: UnsafeRawBufferPointer, frame: RawFrame, _ request: RowRequest, memory: Memory
    ) throws(ImageError) {
        let region = request.region
        guard region.x.lowerBound >= 0, region.y.lowerBound >= 0, region.x.upperBound <= frame.width,
            region.y.upperBound <= frame.height, !region.x.isEmpty
        else { throw .corrupt("the frame's size differs from its description") }
        try frame.check(count: bytes.count)
        self.bytes = bytes
        self.frame = frame
        self.region = region
        isGray = frame.format == .gray8
        conversion = PixelConversion(
            channels: isGray ? 1 : 4, hasAlpha: [.rgba, .bgra, .argb].contains(frame.format), gray: request.gray,
            background: request.background)
        // A pixel before the region, if the region begins within two pixels that share their chroma.
        row = try memory.reserve((region.x.count + 1) * 4)
        channels = conversion.channels
        factors = cresample_yuv(frame.colorimetry)
        y = region.y.lowerBound
    }

    func next() throws(ImageError) -> RowBatch? {
        guard y < region.y.upperBound, let base = bytes.baseAddress else { return nil }
        // `frame.check` has found all rows of the frame within the bytes.
        let start = y * frame.stride + region.x.lowerBound * frame.format.bytesPerPixel
        let source = (base + start).assumingMemoryBound(to: UInt8.self), count = region.x.count
        let isRead: UnsafePointer<UInt8>
        switch frame.format {
        case .gray8: isRead = borrowed(start, count)
        case .rgbx: isRead = conversion.changes ? converted(copied(source, count * 4)) : borrowed(start, count * 4)
        case .rgba:
            let isUnchanged =
                !conversion.changes
                || conversion.channels == 4
                    && cresample_reorder(Self.level, source, count, CRESAMPLE_RGBA, row) == 1
            isRead = isUnchanged ? borrowed(start, count * 4) : converted(copied(source, count * 4))
        case .bgra, .bgrx, .argb:
            let order = frame.format == .argb ? CRESAMPLE_ARGB : CRESAMPLE_BGRA
            let isOpaque = cresample_reorder(Self.level, source, count, order, row) == 1
            isRead = converted(row, isOpaque: isOpaque)
        case .rgb, .bgr:
            cresample_expand(Self.level, source, count, frame.format == .bgr ? 1 : 0, row)
            isRead = converted(row)
        case .nv12, .i420: isRead = converted(colors(base.assumingMemoryBound(to: UInt8.self)))
        }
        y += 1
        return RowBatch(base: isRead, stride: 0, count: 1)
    }

    /// A part of the frame in place; a copy if it is followed by less memory than whole vectors read.
    private func borrowed(_ start: Int, _ count: Int) -> UnsafePointer<UInt8> {
        guard let base = bytes.baseAddress else { return UnsafePointer(row) }
        let source = (base + start).assumingMemoryBound(to: UInt8.self)
        return bytes.count - start - count >= Memory.slack ? source : UnsafePointer(copied(source, count))
    }

    private func copied(_ source: UnsafePointer<UInt8>, _ count: Int) -> UnsafeMutablePointer<UInt8> {
        row.update(from: source, count: count)
        return row
    }

    /// Composes pixels with the background, or converts them to gray, if that is wanted.
    private func converted(_ pixels: UnsafeMutablePointer<UInt8>, isOpaque: Bool = false) -> UnsafePointer<UInt8> {
        if isOpaque, conversion.channels == 4 { return UnsafePointer(pixels) }
        return conversion.apply(pixels, count: region.x.count, room: pixels)
    }

    /// A row of luma and chroma as pixels.
    private func colors(_ base: UnsafePointer<UInt8>) -> UnsafeMutablePointer<UInt8> {
        let first = region.x.lowerBound & ~1, skipped = region.x.lowerBound - first
        let chroma = base + frame.stride * frame.height + y / 2 * frame.chromaStride
        let isPlanar = frame.format == .i420
        let blue = chroma + (isPlanar ? first / 2 : first)
        let red = isPlanar ? blue + frame.chromaStride * frame.chromaRows : blue + 1
        withUnsafePointer(to: factors) { factors in
            cresample_convert(
                Self.level, base + y * frame.stride + first, blue, red, isPlanar ? 1 : 2,
                region.x.count + skipped, factors, row)
        }
        return row + skipped * 4
    }
}

extension cresample_yuv {
    /// The factors for limited range: luma has 219 steps, chroma 224.
    fileprivate init(_ colorimetry: RawFrame.Colorimetry) {
        let (red, blue) = colorimetry == .bt601 ? (0.299, 0.114) : (0.2126, 0.0722), green = 1 - red - blue
        func fixed(_ factor: Double) -> Int32 {
            Int32((factor * Double(1 << CRESAMPLE_YUV_BITS)).rounded())
        }
        let ofRed = 2 * (1 - red) * 255 / 224, ofBlue = 2 * (1 - blue) * 255 / 224
        self.init(
            luma: fixed(255.0 / 219), red: fixed(ofRed), green_of_blue: -fixed(blue / green * ofBlue),
            green_of_red: -fixed(red / green * ofRed), blue: fixed(ofBlue))
    }
}
