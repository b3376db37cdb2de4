internal import ImagePipeline
internal import Rollout

/// Reads a mask from a PNG of class numbers, one byte for each pixel.
enum ClassPicture {
    /// The maximum number of pixels of a picture.
    private static let mostPixels = 64 << 20

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
        guard width > 0, height > 0, width.multipliedReportingOverflow(by: height).partialValue <= mostPixels,
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
        var counts = [[UInt32]](repeating: [], count: 256)
        // The end of the last run of each number.
        var ends = [Int](repeating: 0, count: 256)
        var place = 0
        var current = Int(pixels[0]), start = 0
        func close(_ end: Int) {
            counts[current].append(UInt32(start - ends[current]))
            counts[current].append(UInt32(end - start))
            ends[current] = end
        }
        for column in 0..<width {
            for row in 0..<height {
                let number = Int(pixels[row * width + column])
                if number != current {
                    close(place)
                    (current, start) = (number, place)
                }
                place += 1
            }
        }
        close(place)
        var masks: [Int: RunMask] = [:]
        for number in counts.indices where !counts[number].isEmpty {
            if ends[number] < place { counts[number].append(UInt32(place - ends[number])) }
            masks[number] = RunMask(width: width, height: height, counts: counts[number])
        }
        return masks
    }
}
