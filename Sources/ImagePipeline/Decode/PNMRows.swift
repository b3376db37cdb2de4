/// The rows of a PBM, PGM, PPM or PAM. Nothing but one row is held.
final class PNMRows: RowSource {
    let channels: Int
    var hasOpacity: Bool { conversion.keepsOpacity }
    private let bytes: UnsafeRawBufferPointer
    private let samples: PNMSamples
    private let width: Int
    private let region: Region
    private let conversion: PixelConversion
    /// The bytes of a pixel before conversion.
    private let bytesPerPixel: Int
    private let row: UnsafeMutablePointer<UInt8>
    private let room: UnsafeMutablePointer<UInt8>
    /// The level of each sample up to 255.
    private let levels: [UInt8]
    private let toleratesTruncation: Bool
    /// The offset of the next sample that is text.
    private var offset: Int
    private var y: Int

    /// The number of rows of text that are skipped between two checks for cancellation.
    private static let batch = 16

    init(
        _ bytes: UnsafeRawBufferPointer, header: PictureHeader, samples: PNMSamples, _ request: RowRequest,
        memory: Memory, isCancelled: () -> Bool
    ) throws(ImageError) {
        let region = request.region
        guard region.x.lowerBound >= 0, region.y.lowerBound >= 0, region.x.upperBound <= header.info.width,
            region.y.upperBound <= header.info.height, !region.x.isEmpty
        else { throw .corrupt("the picture's size differs from its header") }
        self.bytes = bytes
        self.samples = samples
        self.region = region
        width = header.info.width
        bytesPerPixel = samples.channels == 3 ? 4 : samples.channels
        conversion = PixelConversion(
            channels: bytesPerPixel, hasAlpha: samples.channels == 4, gray: request.gray,
            background: request.background)
        channels = conversion.channels
        row = try memory.reserve(region.x.count * (bytesPerPixel + (conversion.needsRoom ? 4 : 0)) + Memory.slack)
        room = conversion.needsRoom ? row + region.x.count * bytesPerPixel + Memory.slack : row
        levels = (0...255).map { Self.level(min($0, samples.maximum), samples) }
        toleratesTruncation = request.limits.tolerateTruncation
        offset = header.pixels
        y = 0
        if samples.rowBytes(width) == nil {
            while y < region.y.lowerBound {
                if y % Self.batch == 0, isCancelled() { throw .cancelled }
                try readText(keeping: 0..<0)
                y += 1
            }
        }
        y = region.y.lowerBound
    }

    func next() throws(ImageError) -> RowBatch? {
        guard y < region.y.upperBound else { return nil }
        // Missing samples are black, as for the other formats.
        if toleratesTruncation { row.update(repeating: 0, count: region.x.count * bytesPerPixel) }
        if let rowBytes = samples.rowBytes(width) {
            try readBinary(at: offset + y * rowBytes)
        } else {
            try readText(keeping: region.x)
        }
        y += 1
        return RowBatch(base: conversion.apply(row, count: region.x.count, room: room), stride: 0, count: 1)
    }

    // MARK: Samples

    private static func level(_ sample: Int, _ samples: PNMSamples) -> UInt8 {
        let level = (sample * 255 + samples.maximum / 2) / samples.maximum
        return UInt8(truncatingIfNeeded: samples.isInverted ? 255 - level : level)
    }

    private func level(_ sample: Int) throws(ImageError) -> UInt8 {
        guard sample <= samples.maximum else {
            throw .corrupt("row \(y) has a sample of \(sample), the greatest is \(samples.maximum)")
        }
        return sample <= 255 ? levels[sample] : Self.level(sample, samples)
    }

    /// Stores a sample of a pixel of the region.
    @inline(__always)
    private func store(_ level: UInt8, column: Int, channel: Int) {
        let pixel = row + (column - region.x.lowerBound) * bytesPerPixel
        pixel[channel] = level
        // Colours without opacity have a fourth byte, too.
        if samples.channels == 3, channel == 2 { pixel[3] = 255 }
    }

    private func readBinary(at start: Int) throws(ImageError) {
        for column in region.x {
            for channel in 0..<samples.channels {
                let sample: Int
                let index = column * samples.channels + channel
                switch samples.coding {
                case .bits:
                    guard let byte = byte(start + column / 8) else { return try endEarly() }
                    sample = Int(byte >> UInt8(7 - column % 8) & 1)
                case .words:
                    guard let high = byte(start + 2 * index), let low = byte(start + 2 * index + 1) else {
                        return try endEarly()
                    }
                    sample = Int(high) << 8 | Int(low)
                default:
                    guard let byte = byte(start + index) else { return try endEarly() }
                    sample = Int(byte)
                }
                store(try level(sample), column: column, channel: channel)
            }
        }
    }

    private func byte(_ offset: Int) -> UInt8? { offset < bytes.count ? bytes[offset] : nil }

    /// Reads a row of text; stores the samples of some columns.
    private func readText(keeping kept: Range<Int>) throws(ImageError) {
        for column in 0..<width {
            for channel in 0..<samples.channels {
                guard let sample = try nextNumber() else { return try endEarly() }
                let level = try level(sample)
                if kept.contains(column) { store(level, column: column, channel: channel) }
            }
        }
    }

    /// The next number in the text, or digit; nil at the end. Comments are skipped.
    private func nextNumber() throws(ImageError) -> Int? {
        while let byte = byte(offset), PNMHeader.Tokens.isSpace(byte) || byte == UInt8(ascii: "#") {
            offset += 1
            guard byte == UInt8(ascii: "#") else { continue }
            while let other = self.byte(offset), other != 0x0A, other != 0x0D { offset += 1 }
        }
        guard let first = byte(offset) else { return nil }
        guard (0x30...0x39).contains(first) else {
            throw .corrupt("byte \(offset) is no digit, in row \(y)")
        }
        offset += 1
        var value = Int(first) - 0x30
        guard samples.coding == .text else { return value }
        while let digit = byte(offset), (0x30...0x39).contains(digit) {
            offset += 1
            // Greater numbers are refused whatever they are.
            value = min(value * 10 + Int(digit) - 0x30, 1 << 20)
        }
        return value
    }

    private func endEarly() throws(ImageError) {
        guard toleratesTruncation else {
            throw .truncated("the picture ends at byte \(bytes.count), within its pixels")
        }
    }
}
