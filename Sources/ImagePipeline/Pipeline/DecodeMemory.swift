/// The memory that a picture's decoding takes, by its header.
extension ImagePipeline {
    /// An upper bound of the memory of `prepare`, in addition to the picture and the tensor. It may be too high, by the part of the picture
    /// that is not needed. Use it to limit the memory of all pictures that are decoded at the same time.
    ///
    /// Rows are streamed, so most pictures take a few hundred KiB. Held as a whole are the coefficients of JPEGs with several scans
    /// (2 bytes each), interlaced PNGs (up to 4 bytes a pixel) and WebPs (4 bytes a pixel, 8 where they are lossless or have
    /// transparency). 0 for pictures that `prepare` refuses because of their header.
    public func memoryToDecode(_ bytes: UnsafeRawBufferPointer) -> Int {
        let reader = ByteReader(bytes)
        switch FormatSniffer.format(reader) {
        case .jpeg:
            guard let header = try? JPEGHeader.read(reader, countsScans: false, isCancelled: { false }) else {
                return 0
            }
            return memory(header.info.width, header.info.height, held: header.coefficientBytes)
        case .png:
            guard let width = reader.big32(16), let height = reader.big32(20), let interlace = reader.byte(28) else {
                return 0
            }
            return memory(width, height, held: interlace == 0 ? 0 : Self.product(width + 15, height, 4))
        case .webp:
            guard let header = try? WebPHeader.read(reader, isCancelled: { false }) else { return 0 }
            let (width, height) = (header.info.width, header.info.height)
            // "VP8 " alone has no transparency, which lossless pictures and those with features may have.
            let isPlain = reader.has("VP8 ", at: 12)
            return memory(width, height, held: Self.product(width, height, isPlain ? 4 : 8))
        case nil: return 0
        }
    }

    private func memory(_ width: Int, _ height: Int, held: Int) -> Int {
        let pixels = Self.product(width, height, 1)
        guard width > 0, height > 0, pixels <= limits.maxPixels, max(width, height) <= 65_535 else { return 0 }
        // Rows as decoded, rows between the two passes of scaling, and what the codecs keep of both.
        let rows = (width + height) * Self.rowBytes
        return held > .max - rows ? .max : rows + held
    }

    /// For each pixel of the sides' lengths. Most is kept for a filter that makes one row of hundreds.
    private static let rowBytes = 512

    private static func product(_ first: Int, _ second: Int, _ third: Int) -> Int {
        let (area, isLarge) = first.multipliedReportingOverflow(by: second)
        let (result, isTooLarge) = area.multipliedReportingOverflow(by: third)
        return isLarge || isTooLarge ? .max : result
    }
}
