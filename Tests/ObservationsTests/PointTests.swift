import Observations
import Testing

/// Keypoints, embeddings, priors, and their mapping to the picture.
@Suite struct PointTests {
    private func points(
        _ shape: [Int], _ values: [Float], names: Int?, threshold: Float? = nil,
        _ change: (inout KeypointDecoding) -> Void = { _ in }
    ) throws -> [Keypoint?] {
        var decoding = KeypointDecoding(layout: shape.count == 3 ? .points : .heatmaps)
        change(&decoding)
        let decoder = try KeypointDecoder(decoding, shape: shape, width: 30, height: 60, names: names)
        return try OwnedTensors([("output", shape, values)]).withTensors {
            try decoder.keypoints(try #require($0["output"]?.first), threshold: threshold)
        }
    }

    @Test("keypoint coordinates are read in the described order and unit")
    func coordinatesInTheirOrderAndUnit() throws {
        let values: [Float] = [0.5, 0.1, 0.9, 0.25, 1, 0.5]
        #expect(
            try points([1, 2, 3], values, names: 2)
                == [Keypoint(x: 3, y: 30, confidence: 0.9), Keypoint(x: 30, y: 15, confidence: 0.5)])
        let pixels = try points([1, 2, 3], values, names: nil) {
            $0.order = .xyScore
            $0.units = .pixels
        }
        #expect(pixels.first == Keypoint(x: 0.5, y: 0.1, confidence: 0.9))
        let bare = try points([1, 3, 2], values, names: 3) { $0.order = .xy }
        #expect(bare.last == Keypoint(x: 30, y: 30, confidence: nil))
    }

    @Test("a keypoint below the confidence threshold is not found")
    func aPointUnderTheThresholdIsNotFound() throws {
        let values: [Float] = [0.5, 0.1, 0.5, 0.25, 1, 0.49, 0, 0, 0.1, 0, 0, 1.5]
        let found = try points([1, 4, 3], values, names: 4, threshold: 0.5)
        #expect(found.map { $0?.confidence } == [0.5, nil, nil, 1])
        let logits = try points([1, 4, 3], values, names: 4) { $0.scores = .sigmoid }
        #expect(logits[3].map { $0.confidence.map { $0 > 0.81 && $0 < 0.82 } } == true)
    }

    @Test(
        "a point with a confidence of NaN, or without a place above the threshold, is refused; below it, it is not found",
        arguments: [
            ([0, 0, .nan], false), ([.nan, 0, 0.9], false), ([0, .infinity, 0.9], false),
            ([0, -.infinity, 0.5], false),
            ([.nan, 0, 0.4], true), ([0, .infinity, 0], true),
        ] as [([Float], Bool)])
    func pointsOfNoNumbers(_ values: [Float], _ isNotFound: Bool) throws {
        if isNotFound {
            #expect(try points([1, 1, 3], values, names: 1, threshold: 0.5) == [nil])
        } else {
            #expect(throws: ObservationError.notNumbers(role: "output")) {
                try points([1, 1, 3], values, names: 1, threshold: 0.5)
            }
        }
    }

    @Test("a heatmap peak is moved towards its larger neighbour")
    func peaksLeanTowardsTheirLargerNeighbour() throws {
        let values: [Float] = [0, 0.4, 0, 0.1, 0.8, 0.5, 0, 0.2, 0]
        #expect(try points([1, 1, 3, 3], values, names: 1) == [Keypoint(x: 17.5, y: 25, confidence: 0.8)])
        #expect(
            try points([1, 1, 3, 3], values, names: 1) { $0.refines = false }
                == [Keypoint(x: 15, y: 30, confidence: 0.8)])
        // At an edge, a neighbor is missing on one side; of equal values the first counts; confidences end at 1.
        #expect(
            try points([1, 1, 3, 3], [1.7, 0, 0, 0, 0, 0, 0, 0, 1.7], names: 1)
                == [Keypoint(x: 5, y: 10, confidence: 1)])
        #expect(try points([1, 1, 3, 3], values, names: 1, threshold: 0.81) == [nil])
        #expect(try points([1, 1, 3, 3], [Float](repeating: -.infinity, count: 9), names: 1) == [nil])
        #expect(throws: ObservationError.notNumbers(role: "output")) {
            try points([1, 1, 3, 3], [0, 1, 0, 0, 0, 0, 0, 0, .nan], names: 1)
        }
    }

    @Test("heatmaps with the keypoints on the last axis are read")
    func mapsAsTheLastAxis() throws {
        var values = [Float](repeating: 0, count: 18)
        values[2 * 4] = 0.5
        values[2 * 8 + 1] = 0.6
        #expect(
            try points([1, 3, 3, 2], values, names: 2) { $0.refines = false }
                == [Keypoint(x: 15, y: 30, confidence: 0.5), Keypoint(x: 25, y: 50, confidence: 0.6)])
        #expect(throws: ObservationError.self) { _ = try points([1, 3, 3, 2], values, names: 5) }
    }

    // MARK: Embeddings

    private func probabilities(_ classes: EmbeddingClasses, _ embedding: [Float]) -> [Float]? {
        embedding.withUnsafeBufferPointer { classes.probabilities($0) }
    }

    @Test("L2 normalization gives an embedding the length 1, and a zero vector stays zero")
    func anEmbeddingsLength() {
        func apply(_ normalization: EmbeddingNormalization, _ values: [Float]) -> [Float]? {
            values.withUnsafeBufferPointer { normalization.apply($0) }
        }
        #expect(apply(.l2, [3, 4]) == [0.6, 0.8])
        #expect(apply(.l2, [0, 0]) == [0, 0])
        #expect(apply(.none, [3, 4]) == [3, 4])
        for value in [Float.nan, .infinity, -.infinity] {
            #expect(apply(.l2, [3, value]) == nil && apply(.none, [value, 4]) == nil)
        }
    }

    @Test("the class with the nearest vector is the most probable, for any length of the vectors")
    func theNearestClassIsTheMostProbable() throws {
        let classes = try #require(EmbeddingClasses(vectors: [2, 0, 0, 5, -1, 0], dimension: 2, scale: 1))
        #expect(classes.count == 3)
        // Cosines 1, 0 and -1, for any length.
        let found = try #require(probabilities(classes, [7, 0]))
        for (one, expected) in zip(found, [0.665_241, 0.244_728, 0.090_031] as [Float]) {
            #expect(abs(one - expected) < 1e-5)
        }
        let sharp = try #require(EmbeddingClasses(vectors: [1, 0, 0, 1], dimension: 2, scale: 1_000))
        #expect(probabilities(sharp, [1, 0]) == [1, 0])
        for embedding in [[0, 0], [1], [1, 0, 0]] as [[Float]] {
            #expect(probabilities(classes, embedding) == [0, 0, 0])
        }
        for embedding in [[.infinity, 0], [0, -.infinity], [1, .nan]] as [[Float]] {
            #expect(probabilities(classes, embedding) == nil)
        }
    }

    @Test("class vectors of length 0, of a wrong count or with a wrong scale are refused")
    func vectorsWithoutDirectionAreNoClasses() {
        #expect(EmbeddingClasses(vectors: [1, 0, 0, 0], dimension: 2, scale: 1) == nil)
        #expect(EmbeddingClasses(vectors: [1, 0, 1], dimension: 2, scale: 1) == nil)
        #expect(EmbeddingClasses(vectors: [], dimension: 2, scale: 1) == nil)
        #expect(EmbeddingClasses(vectors: [.nan, 0], dimension: 2, scale: 1) == nil)
        #expect(EmbeddingClasses(vectors: [1, 0], dimension: 2, scale: 0) == nil)
        #expect(EmbeddingClasses(vectors: [1, 0], dimension: 2, scale: .infinity) == nil)
    }

    // MARK: Places

    @Test("boxes are mapped to the picture and cut off at its edges")
    func boxesAreCutOffAtThePicture() {
        let map = PictureMap(
            x: AxisMap(scale: 2, origin: -4, length: 10, seen: 0...10),
            y: AxisMap(scale: 0.5, origin: 1, length: 5, seen: 1...5))
        #expect(
            map.rectangle(Box(left: 3, top: 2, right: 4, bottom: 4)) == .init(x: 2, y: 2, width: 2, height: 1))
        #expect(
            map.rectangle(Box(left: -9, top: -9, right: 99, bottom: 99)) == .init(x: 0, y: 0, width: 10, height: 5))
        #expect(map.rectangle(Box(left: 7, top: 2, right: 9, bottom: 4)) == nil)
        #expect(map.rectangle(Box(left: 3, top: 2, right: 3, bottom: 4)) == nil)
        #expect(map.x.tensor(2) == 3)
    }

    @Test("prior boxes are counted with cells cut by the edge, up to 4,000,000")
    func priorsAreCounted() {
        let grid = PriorBoxes.grid([.init(stride: 8, boxes: [[1, 1], [2, 2]]), .init(stride: 16, boxes: [[4, 4]])])
        // The last cell of a side may be incomplete.
        #expect(grid.count(width: 33, height: 16) == 5 * 2 * 2 + 3)
        #expect(grid.count(width: 32, height: 16) == 4 * 2 * 2 + 2)
        #expect(PriorBoxes.given([1, 2, 3, 4, 5]).count(width: 8, height: 8) == nil)
        #expect(PriorBoxes.grid([.init(stride: 0, boxes: [[1, 1]])]).count(width: 8, height: 8) == nil)
        #expect(PriorBoxes.grid([.init(stride: 1, boxes: [[1, 1]])]).count(width: 2_000, height: 2_000) == 4_000_000)
        #expect(PriorBoxes.grid([.init(stride: 1, boxes: [[1, 1]])]).count(width: 2_001, height: 2_000) == nil)
    }

    @Test("tensor elements are counted, impossible shapes refused and batch axes of 1 removed")
    func extentsOfTensors() {
        #expect(OutputTensor.count(of: [2, 3]) == 6 && OutputTensor.count(of: []) == 1)
        #expect(OutputTensor.count(of: [-1, 3]) == nil && OutputTensor.count(of: [.max, 2]) == nil)
        #expect(OutputTensor.withoutBatch([1, 1, 3, 4], rank: 3) == [1, 3, 4])
        #expect(OutputTensor.withoutBatch([2, 1, 3, 4], rank: 3) == [2, 1, 3, 4])
    }

    /// More candidates than the limit, all with equal confidence: the first rows are kept.
    @Test("of candidates with equal confidence the first rows are kept")
    func ofEqualCandidatesTheFirstRowsStay() throws {
        let count = 30_000
        var values = [Float](repeating: 0.5, count: count * 5)
        for row in 0..<count {
            values[row * 5] = Float(row % 1_000)
            values[row * 5 + 1] = Float(row / 1_000)
        }
        let decoder = try BoxDecoder(
            BoxDecoding(layout: .yolov8), shapes: ["output": [[1, count, 5]]], width: 1_000, height: 1_000, classes: 1)
        let found = try OwnedTensors([("output", [1, count, 5], values)]).withTensors {
            try decoder.detections(in: $0)
        }
        #expect(found.map { Int($0.box.left + 0.5) } == Array(0..<300))
        #expect(found.allSatisfy { $0.box.top < 0.5 })
    }

    /// Scores in random order: some late ones are better than some that are held, but not than all.
    @Test("the best 300 candidates are kept in any order of arrival")
    func theBestCandidatesStayInWhateverOrderTheyCome() throws {
        let count = 50_000
        var values = [Float](repeating: 0.5, count: count * 5)
        for row in 0..<count {
            values[row * 5] = Float(row % 1_000)
            values[row * 5 + 1] = Float(row / 1_000)
            values[row * 5 + 4] = 0.3 + 0.6 * Float(row * 7_919 % count) / Float(count)
        }
        let decoder = try BoxDecoder(
            BoxDecoding(layout: .yolov8), shapes: ["output": [[1, count, 5]]], width: 1_000, height: 1_000, classes: 1)
        let found = try OwnedTensors([("output", [1, count, 5], values)]).withTensors {
            try decoder.detections(in: $0)
        }
        let best = (0..<count).sorted { values[$0 * 5 + 4] > values[$1 * 5 + 4] }.prefix(300)
        #expect(found.map { Int($0.box.left + 0.5) + 1_000 * Int($0.box.top + 0.5) } == Array(best))
    }

    @Test("a score equal to the threshold is enough for a detection")
    func aScoreOfTheThresholdIsEnough() throws {
        var decoding = BoxDecoding(layout: .yolov8)
        decoding.threshold = 0.25
        let count = 60
        var values = [Float](repeating: 0.5, count: count * 5)
        for row in 0..<count {
            values[row * 5] = Float(row * 10)
            values[row * 5 + 4] = row == 7 ? 0.25 : Float(0.25).nextDown
        }
        let decoder = try BoxDecoder(
            decoding, shapes: ["output": [[1, count, 5]]], width: 1_000, height: 1_000, classes: 1)
        let found = try OwnedTensors([("output", [1, count, 5], values)]).withTensors {
            try decoder.detections(in: $0)
        }
        #expect(found.map { Int($0.box.left + 0.5) } == [70] && found.first?.confidence == 0.25)
    }

    /// A ratio is height to width; the area is kept.
    @Test("prior boxes of other aspect ratios keep the area")
    func priorsOfRatios() {
        #expect(
            PriorBoxes.Level.boxes(sizes: [4, 8], ratios: [1, 4, 0.25])
                == [[4, 4], [8, 8], [2, 8], [4, 16], [8, 2], [16, 4]])
    }

    /// Many classes and a likely background: each class is found where it is the greatest, in any SIMD lane.
    @Test("each of 37 classes is found at the greatest score")
    func theGreatestOfManyClassesIsFound() throws {
        let classes = 37
        var boxes: [Float] = [], scores: [Float] = []
        for row in 0..<classes {
            boxes += [(Float(row) + 0.5) / Float(classes), 0.5, 0.01, 0.5]
            scores += (0..<classes).map { $0 == row ? 8 : 0 } + [4]
        }
        let tensors = OwnedTensors([("boxes", [1, classes, 4], boxes), ("scores", [1, classes, classes + 1], scores)])
        let decoder = try BoxDecoder(
            BoxDecoding(layout: .detr),
            shapes: ["boxes": [[1, classes, 4]], "scores": [[1, classes, classes + 1]]], width: 370, height: 370,
            classes: classes)
        let found = try tensors.withTensors { try decoder.detections(in: $0) }
        #expect(found.map(\.index).sorted() == Array(0..<classes))
    }
}
