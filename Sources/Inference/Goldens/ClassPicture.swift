internal import ImagePipeline
internal import Observations
internal import Rollout

/// Reads a mask from a PNG of class numbers, one byte for each pixel.
enum ClassPicture {
    /// The maximum number of pixels of a picture.
    private static let maximumPixels = 64 << 20

    /// The mask of each class number.
    @Sendable static func masks(_ png: [UInt8]) throws(AnswerReader.Problem) -> [Int: RunMask] {
        func side(_ offset: Int) -> Int { png[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
        guard png.count > 33, png.starts(with: [0x89, 0x50, 0x4E, 0x47]) else {
            throw AnswerReader.Problem("has a mask that is not a PNG")
        }
        let width = side(16), height = side(20)
        guard png[24] == 8, png[25] == 0 else {
            throw AnswerReader.Problem(
                "has a mask that is not a PNG of 8-bit class numbers (ask for run lengths instead)")
        }
        guard width > 0, height > 0, width.multipliedReportingOverflow(by: height).partialValue <= maximumPixels,
            !width.multipliedReportingOverflow(by: height).overflow
        else { throw AnswerReader.Problem("has a mask of \(width)x\(height) pixels") }
        let pixels: [UInt8]
        do throws(ImageError) {
            var spec = ImageTensorSpec(width: width, height: height, channelOrder: .gray)
            spec.cropAndScale = .centerCrop
            spec.keepsSize = true
            let pipeline = try ImagePipeline(spec: spec)
            var room = [UInt8](repeating: 0, count: spec.byteCount)
            let outcome = room.withUnsafeMutableBytes { destination in
                png.withUnsafeBytes { bytes -> Result<Void, ImageError> in
                    Result { () throws(ImageError) in
                        _ = try pipeline.prepare(
                            bytes, into: destination, options: ImageDecodeOptions(), isCancelled: { false })
                    }
                }
            }
            try outcome.get()
            pixels = room
        } catch {
            throw AnswerReader.Problem("has a mask that cannot be read: \(error.message)")
        }
        return runs(pixels, width: width, height: height)
    }

    private static func runs(_ pixels: [UInt8], width: Int, height: Int) -> [Int: RunMask] {
        var runs = [RunLengths](repeating: RunLengths(width: width, height: height), count: 256)
        for column in 0..<width {
            func number(_ row: Int) -> Int { Int(pixels[row * width + column]) }
            var start = 0
            for row in 1...height where row == height || number(row) != number(start) {
                runs[number(start)].add(column: column, rows: start..<row)
                start = row
            }
        }
        var masks: [Int: RunMask] = [:]
        for number in runs.indices where runs[number].area > 0 {
            runs[number].close()
            masks[number] = RunMask(runs[number])
        }
        return masks
    }
}
