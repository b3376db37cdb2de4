extension PixelImage {
    /// A picture with the rows of a whole picture as they are displayed.
    static func upright(
        _ rows: any RowSource, info: ImageInfo, orientation exif: Int, isCancelled: () -> Bool
    ) throws(ImageError) -> PixelImage {
        let orientation = Orientation(exif: exif)
        let (width, height) = (info.width, info.height)
        let size = orientation.transposes ? (width: height, height: width) : (width: width, height: height)
        let steps = orientation.steps(width: width, height: height)
        let canvas = try Canvas(width: size.width, height: size.height)
        var y = 0
        while y < height {
            if isCancelled() { throw .cancelled }
            guard let batch = try rows.next() else { throw .corrupt("it has fewer rows than its header says") }
            for row in 0..<min(batch.count, height - y) {
                Self.place(
                    batch.base + row * batch.stride, channels: rows.channels, hasOpacity: rows.hasOpacity, count: width,
                    at: canvas.pixels + (steps.first + y * steps.down), step: steps.across)
                y += 1
            }
        }
        return try canvas.image(format: info.format, hasAlpha: rows.hasOpacity)
    }

    /// Writes one row of pixels; successive pixels are `step` apart.
    private static func place(
        _ row: UnsafePointer<UInt8>, channels: Int, hasOpacity: Bool, count: Int,
        at first: UnsafeMutablePointer<SIMD4<UInt8>>, step: Int
    ) {
        if channels == 4 {
            Self.place(row, hasOpacity: hasOpacity, count: count, at: UnsafeMutableRawPointer(first), step: step)
            return
        }
        var to = first
        for column in 0..<count {
            let from = row + column * channels
            to.pointee = SIMD4(from[0], from[0], from[0], channels == 2 ? from[1] : 255)
            if column + 1 < count { to += step }
        }
    }

    /// Writes one row of pixels of 4 bytes as 32-bit words. Most pictures are upright colour pictures, for which the
    /// compiler vectorizes the loop.
    private static func place(
        _ row: UnsafePointer<UInt8>, hasOpacity: Bool, count: Int, at first: UnsafeMutableRawPointer, step: Int
    ) {
        let from = UnsafeRawPointer(row)
        let opaque: UInt32 = hasOpacity ? 0 : UInt32(0xFF00_0000).littleEndian
        if step == 1 {
            for place in 0..<count {
                let pixel = from.loadUnaligned(fromByteOffset: 4 &* place, as: UInt32.self) | opaque
                first.storeBytes(of: pixel, toByteOffset: 4 &* place, as: UInt32.self)
            }
        } else {
            for place in 0..<count {
                let pixel = from.loadUnaligned(fromByteOffset: 4 &* place, as: UInt32.self) | opaque
                first.storeBytes(of: pixel, toByteOffset: 4 &* place &* step, as: UInt32.self)
            }
        }
    }
}

extension Orientation {
    /// The order in which stored pixels appear in the displayed picture, as offsets in displayed pixels: of the first
    /// pixel, from one pixel of a row to the next, and from one row to the next.
    fileprivate func steps(width: Int, height: Int) -> (first: Int, across: Int, down: Int) {
        let displayedWidth = transposes ? height : width
        let across = transposes ? displayedWidth : 1, down = transposes ? 1 : displayedWidth
        return (
            (flipsX ? (width - 1) * across : 0) + (flipsY ? (height - 1) * down : 0), flipsX ? -across : across,
            flipsY ? -down : down
        )
    }
}
