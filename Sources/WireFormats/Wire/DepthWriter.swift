package import ImagePipeline
package import Inference
package import JSON

/// Writes depth maps: as a picture of 16 bits with its range, or as numbers.
package enum DepthWriter {
    /// The map as a PNG of 16 bits: depth = minimum + (maximum - minimum) * value / 65535.
    package static func png(_ map: DepthMap, isCancelled: () -> Bool) throws(ImageError) -> [UInt8] {
        let depths = UnsafeMutableBufferPointer<Float>.allocate(capacity: map.width)
        defer { depths.deallocate() }
        depths.initialize(repeating: 0)
        return try PNGEncoder.encode(width: map.width, height: map.height, bits: 16, palette: nil) { row, line in
            if row & 63 == 0, isCancelled() { return false }
            map.write(row: row, steps: line, through: depths)
            return true
        }
    }

    /// The map as 32-bit floats, little-endian, row by row.
    package static func floats(_ map: DepthMap, isCancelled: () -> Bool) throws(ImageError) -> [UInt8] {
        let (count, overflow) = map.width.multipliedReportingOverflow(by: map.height)
        guard !overflow, count <= .max / 4 else { throw .outOfMemory }
        var isStopped = false
        let bytes = [UInt8](unsafeUninitializedCapacity: count * 4) { bytes, filled in
            let row = UnsafeMutableBufferPointer<Float>.allocate(capacity: map.width)
            defer { row.deallocate() }
            row.initialize(repeating: 0)
            for line in 0..<map.height {
                if line & 63 == 0, isCancelled() {
                    isStopped = true
                    return
                }
                map.write(row: line, into: row)
                for value in row {
                    withUnsafeBytes(of: value.bitPattern.littleEndian) {
                        for byte in $0 {
                            bytes.initializeElement(at: filled, to: byte)
                            filled += 1
                        }
                    }
                }
            }
        }
        if isStopped { throw .cancelled }
        return bytes
    }

    /// Writes `{"b64", "min", "max"}`.
    package static func write(
        _ map: DepthMap, to writer: inout JSONWriter, isCancelled: () -> Bool
    ) throws(ImageError) {
        let png = try png(map, isCancelled: isCancelled)
        writer.object { writer in
            writer.key("b64")
            png.withUnsafeBytes { writer.base64($0) }
            writer.member("min", map.minimum)
            writer.member("max", map.maximum)
        }
    }
}
