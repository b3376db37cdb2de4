import Observations
import Testing

/// Class maps and masks of single detections, over pictures of a few pixels.
@Suite struct ClassMapTests {
    private func map(
        _ layout: MaskLayout, _ shape: [Int], _ values: [Float], side: Int = 4, classes: Int? = nil
    ) throws -> ClassMap {
        let decoder = try MaskDecoder(
            MaskDecoding(layout: layout), shape: shape, width: side, height: side, classes: classes)
        return try OwnedTensors([("output", shape, values)]).withTensors {
            try decoder.map(try #require($0["output"]?.first))
        }
    }

    /// A picture with the size of the input tensor.
    private func picture(_ side: Int = 4, seen: ClosedRange<Double>? = nil) -> PictureMap {
        let whole = 0...Double(side)
        return PictureMap(
            x: AxisMap(scale: 1, origin: 0, length: side, seen: seen ?? whole),
            y: AxisMap(scale: 1, origin: 0, length: side, seen: whole))
    }

    private func row(_ row: Int, of mask: PictureMask) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xAA, count: mask.width * mask.bytes)
        bytes.withUnsafeMutableBufferPointer { mask.write(row: row, into: $0) }
        return bytes
    }

    @Test("each pixel has the class of the greatest score, and of equal scores the first")
    func theGreatestScoreWinsAndTheFirstOfEquals() throws {
        let first = try map(.classes, [1, 3, 1, 4], [1, 5, 2, 0, 3, 5, 2, 0, 2, 4, 9, -1], classes: 3)
        #expect(first.values == [1, 0, 2, 0])
        #expect(first.classes == 3 && first.width == 4 && first.height == 1)
        let last = try map(.classes, [1, 1, 4, 3], [1, 3, 2, 5, 5, 4, 2, 2, 9, 0, 0, -1], classes: 3)
        #expect(last.values == first.values && last.width == 4)
    }

    @Test("a score equal to the threshold is enough for a class")
    func theThresholdItselfIsEnough() throws {
        let logits = try map(.sigmoid, [1, 2, 1, 4], [0, -0.1, -5, 1, -1, -0.1, 3, 1])
        #expect(logits.values == [1, 0, 2, 1] && logits.classes == 3)
        let probabilities = try map(.probabilities, [1, 2, 1, 4], [0.5, 0.4, 0.6, 0, 0.5, 0.6, 0.5, 0.49])
        #expect(probabilities.values == [1, 2, 1, 0])
    }

    @Test("class indices are rounded, and an index of no class becomes 0")
    func numbersOfNoClassAreNothing() throws {
        let map = try map(.indices, [1, 1, 1, 6], [0.6, 1.4, 2.4, 3, -1, .infinity], classes: 3)
        #expect(map.values == [1, 1, 2, 0, 0, 0])
    }

    @Test("a map with NaN in a score or a class index is refused", arguments: MaskLayout.allCases)
    func aMapOfNoNumbersIsRefused(_ layout: MaskLayout) {
        let channels = layout == .indices ? 1 : 2
        for place in 0..<channels * 3 {
            var values = [Float](repeating: 0, count: channels * 3)
            values[place] = .nan
            #expect(throws: ObservationError.notNumbers(role: "output"), "\(place)") {
                try map(layout, [1, channels, 1, 3], values)
            }
        }
    }

    @Test("a class map is scaled to the picture and gives areas and run lengths of each class")
    func aMapIsLaidOverThePicture() throws {
        let mask = PictureMask(try map(.indices, [1, 1, 2, 2], [1, 0, 0, 2], classes: 3), in: picture())
        #expect((0..<4).map { row($0, of: mask) } == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 2, 2], [0, 0, 2, 2]])
        #expect(try mask.areas() == [8, 4, 4])
        let runs = try #require(try mask.runLengths(of: [0, 1, 2], maximum: .max))
        #expect(runs[1]?.counts == [0, 2, 2, 2, 10] && runs[1]?.compressed == "02208")
        #expect(runs[2]?.counts == [10, 2, 2, 2])
        #expect(runs[0]?.counts == [2, 2, 2, 4, 2, 2, 2])
        #expect(runs.mapValues(\.area) == [0: 8, 1: 4, 2: 4])
        // Runs over whole columns are joined.
        let all = PictureMask(try map(.indices, [1, 1, 1, 1], [0], classes: 1), in: picture())
        #expect(try all.runLengths(of: [0], maximum: .max)?[0]?.counts == [0, 16])
    }

    @Test("pixels that the crop cut off belong to no class")
    func pixelsThatACropCutOffAreOfNoClass() throws {
        let classes = try map(.indices, [1, 1, 2, 2], [1, 0, 0, 2], classes: 3)
        let mask = PictureMask(classes, in: picture(seen: 1...3))
        #expect(row(0, of: mask) == [255, 1, 0, 255])
        #expect(try mask.areas() == [4, 2, 2])
        #expect(try mask.runLengths(of: [1], maximum: .max)?[1]?.counts == [4, 2, 10])
        // A pixel with its center on the edge is seen.
        #expect(row(0, of: PictureMask(classes, in: picture(seen: 0.5...3.5))) == [1, 1, 0, 0])
    }

    @Test("a mask of more than 256 classes has two bytes per pixel")
    func moreThan256ClassesHaveTwoBytes() throws {
        func mask(_ classes: Int) throws -> PictureMask {
            let map = try map(.indices, [1, 1, 1, 2], [Float(classes - 1), 1], side: 2, classes: classes)
            return PictureMask(map, in: picture(2))
        }
        let maximum = try mask(256), more = try mask(257), many = try mask(300)
        #expect(maximum.bytes == 1 && maximum.unseen == 0 && more.bytes == 2 && more.unseen == .max)
        #expect(row(0, of: maximum) == [255, 1] && row(0, of: many) == [1, 43, 0, 1])
        #expect(try mask(255).unseen == 255)
    }

    @Test("run lengths beyond the limit are nil, and cancelling throws")
    func tooManyRunsAreNotGiven() throws {
        let mask = PictureMask(try map(.indices, [1, 1, 2, 2], [1, 0, 0, 2], classes: 3), in: picture())
        #expect(try mask.runLengths(of: [1], maximum: 4)?[1]?.area == 4)
        #expect(try mask.runLengths(of: [1], maximum: 3) == nil)
        #expect(throws: ObservationError.cancelled) {
            _ = try mask.runLengths(of: [1], maximum: 4, isCancelled: { true })
        }
    }

    /// From the fourth on, each length is stored as a difference, in groups of 5 bits.
    @Test("run lengths are written as COCO's compressed text")
    func lengthsAsTextOfCOCO() throws {
        // 1, 2, 3, 1: the last one is stored as the difference -1.
        let narrow = try map(.indices, [1, 1, 7, 1], [0, 1, 1, 0, 0, 0, 1], side: 7, classes: 2)
        let columns = PictureMap(
            x: AxisMap(scale: 1, origin: 0, length: 1, seen: 0...1),
            y: AxisMap(scale: 1, origin: 0, length: 7, seen: 0...7))
        let runs = try PictureMask(narrow, in: columns).runLengths(of: [1], maximum: .max)
        #expect(runs?[1]?.counts == [1, 2, 3, 1] && runs?[1]?.compressed == "123O")
        // 16 needs two groups: its fifth bit would otherwise be a sign.
        let all = PictureMask(try map(.indices, [1, 1, 1, 1], [0], classes: 1), in: picture())
        #expect(try all.runLengths(of: [0], maximum: .max)?[0]?.compressed == "0`0")
    }

    // MARK: Single detections

    private func mask(
        _ shape: [Int], _ prototypes: [Float], _ coefficients: [Float],
        box: Box = Box(left: 0, top: 0, right: 4, bottom: 4), threshold: Float = 0.5, maximum: Int = .max
    ) throws -> RunLengths? {
        let decoder = try InstanceMaskDecoder(
            shape: shape, coefficients: coefficients.count, threshold: threshold, width: 4, height: 4)
        return try OwnedTensors([("prototypes", shape, prototypes)]).withTensors {
            try decoder.mask(
                of: Detection(box: box, index: 0, confidence: 1), coefficients: coefficients[...],
                prototypes: try #require($0["prototypes"]?.first), in: picture(), maximum: maximum)
        }
    }

    @Test("the mask of a detection ends at its box")
    func aMaskEndsAtItsBox() throws {
        let ones: [Float] = [1, 1, 1, 1]
        let box = Box(left: 1, top: 0, right: 3, bottom: 2)
        #expect(try mask([1, 1, 2, 2], ones, [1], box: box)?.counts == [4, 2, 2, 2, 6])
        // A pixel is in the box if its center is; the right edge is exclusive.
        let half = Box(left: 0.5, top: 0, right: 2.5, bottom: 4)
        #expect(try mask([1, 1, 2, 2], ones, [1], box: half)?.counts == [0, 8, 8])
        let outside = Box(left: 8, top: 0, right: 9, bottom: 4)
        #expect(try mask([1, 1, 2, 2], ones, [1], box: outside)?.counts == [16])
        #expect(try mask([1, 1, 2, 2], ones, [-1])?.counts == [16])
    }

    @Test("mask values between the cells of a prototype are interpolated")
    func valuesBetweenCellsAreInterpolated() throws {
        // The values go from -1 to 1 between the centers of two cells: the right half is in the mask, and then the
        // lower one.
        #expect(try mask([1, 1, 1, 2], [-1, 1], [1])?.counts == [8, 8])
        #expect(try mask([1, 1, 1, 2], [-1, 1], [-1])?.counts == [0, 8, 8])
        #expect(try mask([1, 1, 2, 1], [-1, 1], [1])?.counts == [2, 2, 2, 2, 2, 2, 2, 2])
        #expect(try mask([1, 1, 2, 1], [-1, 1], [-1])?.counts == [0, 2, 2, 2, 2, 2, 2, 2, 2])
        // At half the way to the second row's center, the probability is above 0.6 (logit 0.41) and below 0.63.
        #expect(try mask([1, 1, 2, 1], [-1, 1], [1], threshold: 0.6)?.area == 8)
        #expect(try mask([1, 1, 2, 1], [-1, 1], [1], threshold: 0.63)?.area == 4)
    }

    @Test("prototypes in both axis orders are weighted by the coefficients and summed")
    func prototypesAreWeightedAndSummed() throws {
        #expect(try mask([1, 3, 1, 2], [1, 0, 0, 0, 0, 1], [-1, 0, 1])?.counts == [8, 8])
        #expect(try mask([1, 1, 2, 3], [1, 0, 0, 0, 0, 1], [-1, 0, 1])?.counts == [8, 8])
        #expect(throws: ObservationError.notNumbers(role: "prototypes")) { try mask([1, 1, 1, 2], [.nan, 1], [1]) }
        #expect(try mask([1, 1, 2, 1], [-1, 1], [1], maximum: 3) == nil)
    }
}
