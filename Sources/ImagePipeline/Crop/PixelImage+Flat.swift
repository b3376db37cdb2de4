extension PixelImage {
    /// Red, green and blue of each pixel of an upright picture, row by row; transparent pixels are composed with a
    /// colour.
    ///
    /// - Parameter isCancelled: called between batches of rows; if it returns true, the call throws `cancelled`.
    public func flattened(over background: RGBColor, isCancelled: () -> Bool = { false }) throws(ImageError) -> [UInt8]
    {
        let (width, height) = (info.width, info.height)
        let conversion = PixelConversion(channels: 4, hasAlpha: hasAlpha, gray: false, background: background)
        let memory = Memory()
        let row = try memory.reserve(width * 4)
        var isStopped = false
        let flat = [UInt8](unsafeUninitializedCapacity: width * height * 3) { flat, count in
            for y in 0..<height {
                if y & 63 == 0, isCancelled() {
                    isStopped = true
                    return
                }
                UnsafeMutableRawPointer(row).copyMemory(from: pixels + y * width * 4, byteCount: width * 4)
                let converted = conversion.apply(row, count: width, room: row)
                for x in 0..<width {
                    for channel in 0..<3 { flat[count + channel] = converted[4 * x + channel] }
                    count += 3
                }
            }
        }
        if isStopped { throw .cancelled }
        return flat
    }
}
