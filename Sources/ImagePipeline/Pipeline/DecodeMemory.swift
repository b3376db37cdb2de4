/// The memory and the time that decoding a picture takes, estimated from its header.
public struct DecodeDemand: Sendable, Hashable {
    /// The memory in bytes.
    public var memory = 0
    /// The processor time in nanoseconds: a rough estimate for scheduling.
    public var time: UInt64 = 0

    /// No demand: the picture is refused because of its header.
    public static let none = DecodeDemand()
}

extension ImagePipeline {
    /// The memory of ``demand(_:)``.
    public func memoryToDecode(_ bytes: UnsafeRawBufferPointer) -> Int { demand(bytes).memory }

    /// The demand of `prepare`: an estimate of the time, and an upper bound of the memory in addition to the picture
    /// and the tensor. Both may be too high by the part of the picture that is not needed.
    ///
    /// Rows are streamed, so most pictures take a few hundred KiB. Held as a whole are the coefficients of JPEGs with
    /// several scans (2 bytes each), interlaced PNGs (up to 4 bytes per pixel) and WebPs (4 bytes per pixel, 8 if they
    /// are lossless or have transparency). The demand is zero for pictures that `prepare` refuses because of their
    /// header. It is the maximum that the limits allow for a header of more than 16,384 segments or chunks, or of 256
    /// KiB between segments: reading stops there, so that this takes at most about 0.2 ms.
    ///
    /// - Parameter frame: the layout of the bytes if they are a raw frame; nil for a file.
    public func demand(_ bytes: UnsafeRawBufferPointer, frame: RawFrame? = nil) -> DecodeDemand {
        if let frame { return demand(frame.width, frame.height, buffered: 0, time: Self.timeOfRaw) }
        let reader = ByteReader(bytes)
        guard let format = FormatSniffer.format(reader) else { return .none }
        var batches = 0
        func isLong() -> Bool {
            batches += 1
            return batches == Self.batchesOfHeader
        }
        switch format.codec {
        case .jpeg:
            let header: PictureHeader
            do throws(ImageError) {
                header = try JPEGHeader.read(reader, countsScans: false, isCancelled: isLong)
            } catch {
                return error == .cancelled ? largestDemand(bytesOfPixel: 6, time: Self.timeOfScans) : .none
            }
            return demand(
                header.info.width, header.info.height, buffered: header.coefficientBytes,
                time: header.coefficientBytes > 0 ? Self.timeOfScans : Self.timeOfJPEG)
        case .png:
            guard let width = reader.big32(16), let height = reader.big32(20), let interlace = reader.byte(28) else {
                return .none
            }
            return demand(
                width, height, buffered: interlace == 0 ? 0 : Self.product(width + 15, height, 4),
                time: interlace == 0 ? Self.timeOfPNG : Self.timeOfInterlacedPNG)
        case .webp:
            let header: PictureHeader
            do throws(ImageError) {
                header = try WebPHeader.read(reader, isCancelled: isLong)
            } catch {
                return error == .cancelled ? largestDemand(bytesOfPixel: 8, time: Self.timeOfWebP) : .none
            }
            let (width, height) = (header.info.width, header.info.height)
            // A file that begins with "VP8 " has no transparency; lossless and extended files may have it.
            let isPlain = reader.has("VP8 ", at: 12)
            return demand(
                width, height, buffered: Self.product(width, height, isPlain ? 4 : 8), time: Self.timeOfWebP)
        case .pnm:
            let header: PictureHeader
            do throws(ImageError) {
                header = try PNMHeader.read(reader, isCancelled: isLong)
            } catch {
                return error == .cancelled ? largestDemand(bytesOfPixel: 1, time: Self.timeOfSamples) : .none
            }
            return demand(
                header.info.width, header.info.height, buffered: 0,
                time: header.samples?.format == nil ? Self.timeOfSamples : Self.timeOfRaw)
        case .raw, .confined:
            // The decoding process reports the size later; its memory is reserved then.
            guard limits.formats.contains(format) else { return .none }
            return DecodeDemand(memory: 0, time: Self.minimumConfined + UInt64(bytes.count) * Self.timeOfByte(format))
        }
    }

    /// The minimum time of decoding in a separate process, in nanoseconds. It counts as long, because a thread waits
    /// for it.
    private static let minimumConfined: UInt64 = 10_000_000

    /// The approximate time for one byte of the file, in nanoseconds.
    private static func timeOfByte(_ format: ImageFormat) -> UInt64 {
        switch format {
        case .jpeg, .png, .webp, .bmp, .pbm, .pgm, .ppm, .pam, .raw: 3
        case .tiff: 10
        case .gif: 30
        case .heic, .avif, .jxl: 200
        }
    }

    /// The maximum number of batches (of segments, of chunks, or of bytes between segments) that are read for an
    /// estimate.
    private static let batchesOfHeader = 4

    /// The demand of the largest picture within the limits.
    private func largestDemand(bytesOfPixel: Int, time: Int) -> DecodeDemand {
        DecodeDemand(
            memory: Self.product(limits.maxPixels, bytesOfPixel, 1),
            time: UInt64(Self.product(limits.maxPixels, time, 1)))
    }

    private func demand(_ width: Int, _ height: Int, buffered: Int, time: Int) -> DecodeDemand {
        let pixels = Self.product(width, height, 1)
        guard width > 0, height > 0, pixels <= limits.maxPixels, max(width, height) <= 65_535 else { return .none }
        // Decoded rows, rows between the two scaling passes, and the codecs' memory for both.
        let rows = (width + height) * Self.rowBytes
        return DecodeDemand(
            memory: buffered > .max - rows ? .max : rows + buffered, time: UInt64(Self.product(width, height, time)))
    }

    /// The time per pixel in nanoseconds, as measured (Benchmarks/results/2026-11-23-fairness.md).
    private static let timeOfJPEG = 4, timeOfScans = 18, timeOfPNG = 8, timeOfInterlacedPNG = 17, timeOfWebP = 8
    /// Likewise (Benchmarks/results/2026-11-30-raw.md): of pixels that are bytes, and of those that are computed.
    private static let timeOfRaw = 1, timeOfSamples = 30

    /// The memory in bytes for each pixel of width plus height. The largest use is a filter that computes one row from
    /// hundreds.
    private static let rowBytes = 512

    private static func product(_ first: Int, _ second: Int, _ third: Int) -> Int {
        let (area, isLarge) = first.multipliedReportingOverflow(by: second)
        let (result, isTooLarge) = area.multipliedReportingOverflow(by: third)
        return isLarge || isTooLarge ? .max : result
    }
}
