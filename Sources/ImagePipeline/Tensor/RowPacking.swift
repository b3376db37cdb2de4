import CResample

/// Faster ways to write a row of RGBX pixels for the most frequent layouts. The results equal those of the tables;
/// `TensorWriter` handles all other layouts with tables.
struct RowPacking: Sendable {
    private let kind: Kind
    private let isBGR: Bool
    /// By channel in the tensor's order; the fourth value is unused.
    private let scale: SIMD4<Float>
    private let bias: SIMD4<Float>

    private enum Kind {
        case interleavedLevels
        case interleavedFloats
        case planarFloats
    }

    /// Fails if the tensor's format has no faster way.
    init?(_ spec: ImageTensorSpec) {
        guard spec.channels == 3, spec.normalization == nil else { return nil }
        switch (spec.element, spec.layout) {
        case (.uint8, .nhwc):
            guard spec.scale.allSatisfy({ $0 == 1 }), spec.bias.allSatisfy({ $0 == 0 }) else { return nil }
            kind = .interleavedLevels
        case (.float32, .nhwc): kind = .interleavedFloats
        case (.float32, .nchw): kind = .planarFloats
        default: return nil
        }
        isBGR = spec.channelOrder == .bgr
        let order = isBGR ? [2, 1, 0] : [0, 1, 2]
        scale = SIMD4(spec.scale[order[0]], spec.scale[order[1]], spec.scale[order[2]], 0)
        bias = SIMD4(spec.bias[order[0]], spec.bias[order[1]], spec.bias[order[2]], 0)
    }

    /// Writes all pixels except the last few. Returns the number of written pixels.
    ///
    /// `row` has `count` pixels of 4 bytes. The destination has room for `count` consecutive pixels; in planar tensors
    /// the channels are `channelStep` bytes apart. Stores are wider than a pixel: the next pixel overwrites the excess,
    /// and the last pixels are left to the caller.
    func write(
        _ row: UnsafeRawPointer, count: Int, to start: UnsafeMutableRawPointer, channelStep: Int
    ) -> Int {
        switch kind {
        case .interleavedLevels:
            cresample_pack(ResampleLevel.best, row, count, isBGR ? 1 : 0, start)
            return count
        case .interleavedFloats: return packFloats(row, count - 1, start)
        case .planarFloats: return splitFloats(row, count, start, channelStep)
        }
    }

    private func packFloats(_ row: UnsafeRawPointer, _ count: Int, _ start: UnsafeMutableRawPointer) -> Int {
        guard count > 0 else { return 0 }
        for index in 0..<count {
            var pixel = row.loadUnaligned(fromByteOffset: index &* 4, as: UInt32.self)
            if isBGR { pixel = pixel.byteSwapped &>> 8 }
            let levels = SIMD4<Int32>(truncatingIfNeeded: unsafeBitCast(pixel, to: SIMD4<UInt8>.self))
            let values = SIMD4<Float>(levels) * scale + bias
            start.storeBytes(of: values, toByteOffset: index &* 12, as: SIMD4<Float>.self)
        }
        return count
    }

    private func splitFloats(
        _ row: UnsafeRawPointer, _ count: Int, _ start: UnsafeMutableRawPointer, _ channelStep: Int
    ) -> Int {
        let whole = count & ~3
        for channel in 0..<3 {
            let shift = SIMD4<UInt32>(repeating: UInt32(isBGR ? 16 - channel * 8 : channel * 8))
            let scale = SIMD4<Float>(repeating: self.scale[channel])
            let bias = SIMD4<Float>(repeating: self.bias[channel])
            let plane = start + channel * channelStep
            var index = 0
            while index < whole {
                let pixels = row.loadUnaligned(fromByteOffset: index &* 4, as: SIMD4<UInt32>.self)
                let levels = SIMD4<Int32>(truncatingIfNeeded: pixels &>> shift & 0xFF)
                let values = SIMD4<Float>(levels) * scale + bias
                plane.storeBytes(of: values, toByteOffset: index &* 4, as: SIMD4<Float>.self)
                index &+= 4
            }
        }
        return whole
    }
}
