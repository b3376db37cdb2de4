/// Conversions of decoded rows to rows for resampling: 1 byte (gray) or 4 bytes (red, green, blue, unused) per pixel.
///
/// The caller must ensure the sizes of the rows.
enum RowConversion {
    /// Luma as in Pillow's `convert("L")`: ITU-R BT.601 in 16-bit fixed point.
    @inline(__always)
    static func luma(_ red: UInt32, _ green: UInt32, _ blue: UInt32) -> UInt8 {
        UInt8(truncatingIfNeeded: (red &* 19595 &+ green &* 38470 &+ blue &* 7471 &+ 0x8000) >> 16)
    }

    /// The product a * b / 255, rounded to nearest.
    @inline(__always)
    static func multiply(_ a: UInt32, _ b: UInt32) -> UInt32 {
        let product = a &* b &+ 128
        return ((product >> 8) &+ product) >> 8
    }

    /// The blend value * alpha + background * (1 - alpha), as in Pillow's `paste` with a mask.
    @inline(__always)
    static func blend(_ value: UInt32, _ background: UInt32, _ alpha: UInt32) -> UInt8 {
        let sum = value &* alpha &+ background &* (255 &- alpha) &+ 128
        return UInt8(truncatingIfNeeded: ((sum >> 8) &+ sum) >> 8)
    }

    /// Composes RGBA with a colour, in place.
    static func compositeRGBA(_ row: UnsafeMutablePointer<UInt8>, count: Int, over background: RGBColor) {
        let red = UInt32(background.red)
        let green = UInt32(background.green)
        let blue = UInt32(background.blue)
        for index in 0..<count {
            let pixel = row + index &* 4
            let alpha = UInt32(pixel[3])
            if alpha == 255 { continue }
            pixel[0] = blend(UInt32(pixel[0]), red, alpha)
            pixel[1] = blend(UInt32(pixel[1]), green, alpha)
            pixel[2] = blend(UInt32(pixel[2]), blue, alpha)
        }
    }

    /// Composes gray and alpha with a colour, to RGBX. The source is at the end of the destination's memory or
    /// elsewhere, so each pixel is read before it is overwritten.
    static func compositeGrayAlpha(
        _ source: UnsafePointer<UInt8>, to row: UnsafeMutablePointer<UInt8>, count: Int, over background: RGBColor
    ) {
        for index in 0..<count {
            let gray = UInt32(source[index &* 2])
            let alpha = UInt32(source[index &* 2 &+ 1])
            let pixel = row + index &* 4
            pixel[0] = blend(gray, UInt32(background.red), alpha)
            pixel[1] = blend(gray, UInt32(background.green), alpha)
            pixel[2] = blend(gray, UInt32(background.blue), alpha)
            pixel[3] = 255
        }
    }

    /// Converts RGBX to gray, in place; writes never pass reads.
    static func grayFromRGBX(_ row: UnsafeMutablePointer<UInt8>, count: Int) {
        for index in 0..<count {
            let pixel = row + index &* 4
            row[index] = luma(UInt32(pixel[0]), UInt32(pixel[1]), UInt32(pixel[2]))
        }
    }

    /// Converts RGBX to gray in another buffer, sixteen pixels at a time.
    static func gray(_ source: UnsafePointer<UInt8>, to row: UnsafeMutablePointer<UInt8>, count: Int) {
        let from = UnsafeRawPointer(source)
        var index = 0
        while index &+ 16 <= count {
            let pixels = from.loadUnaligned(fromByteOffset: index &* 4, as: SIMD16<UInt32>.self)
            let red = (pixels & 0xFF) &* 19595
            let green = (pixels &>> 8 & 0xFF) &* 38470
            let blue = (pixels &>> 16 & 0xFF) &* 7471
            let levels = SIMD16<UInt8>(truncatingIfNeeded: (red &+ green &+ blue &+ 0x8000) &>> 16)
            UnsafeMutableRawPointer(row).storeBytes(of: levels, toByteOffset: index, as: SIMD16<UInt8>.self)
            index &+= 16
        }
        while index < count {
            let pixel = source + index &* 4
            row[index] = luma(UInt32(pixel[0]), UInt32(pixel[1]), UInt32(pixel[2]))
            index &+= 1
        }
    }

    /// Converts Adobe's CMYK, which stores 255 minus the ink, to RGBX, in place. All CMYK is assumed to be of that
    /// kind, as in Pillow: other files are rare and cannot be recognised with certainty.
    static func rgbxFromInvertedCMYK(_ row: UnsafeMutablePointer<UInt8>, count: Int) {
        for index in 0..<count {
            let pixel = row + index &* 4
            let white = UInt32(pixel[3])
            for channel in 0..<3 {
                let ink = 255 &- UInt32(pixel[channel])
                pixel[channel] = UInt8(truncatingIfNeeded: white &- multiply(ink, white))
            }
            pixel[3] = 255
        }
    }
}

extension RGBColor {
    /// The colour in gray, converted like pixels.
    package var luma: UInt8 { RowConversion.luma(UInt32(red), UInt32(green), UInt32(blue)) }
}
