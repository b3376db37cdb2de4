import Foundation
import Observations
import TestSupport
import Testing

/// Invalid outputs: every decoder ends in bounded time, with finite boxes.
@Suite struct HostileTensorTests {
    /// The number of tensors of each layout: 500, or the value of OCELLI_TEST_TENSORS.
    private static let rounds = ProcessInfo.processInfo.environment["OCELLI_TEST_TENSORS"].flatMap { Int($0) } ?? 500

    private static func value(_ random: inout SplitMix) -> Float {
        switch Int.random(in: 0..<12, using: &random) {
        case 0: .nan
        case 1: .infinity
        case 2: -.infinity
        case 3: 1e30
        case 4: -1e30
        case 5: .greatestFiniteMagnitude
        case 6: -0.0
        case 7: Float(bitPattern: UInt32.random(in: 0...UInt32.max, using: &random))
        default: Float.random(in: -2...2, using: &random)
        }
    }

    /// - Parameter isFinite: whether NaN and infinity are left out: they end most decodings.
    private static func tensor(_ shape: [Int], isFinite: Bool = false, _ random: inout SplitMix) -> [Float] {
        (0..<shape.reduce(1, *)).map { _ in
            let value = value(&random)
            return value.isFinite || !isFinite ? value : 0.5
        }
    }

    /// Runs a test with numbers that may be refused.
    private static func unlessRefused(_ body: () throws -> Void) rethrows {
        do { try body() } catch ObservationError.notNumbers {}
    }

    /// The shapes of a layout's tensors for an input of 32 x 32 and 3 classes.
    /// - Parameter extras: the number of extras after the classes of each row, for layouts of one tensor.
    private static func shapes(_ layout: BoxLayout, extras: Int, _ random: inout SplitMix) -> [String: [[Int]]] {
        let rows = Int.random(in: 1...40, using: &random)
        switch layout {
        case .yolov5: return ["output": [[1, rows, 8 + extras]]]
        case .yolov8:
            return ["output": [Bool.random(using: &random) ? [1, 7 + extras, rows] : [1, rows, 7 + extras]]]
        case .endToEnd: return ["output": [[1, rows, 6 + extras]]]
        case .turned: return ["output": [[1, 8, rows]]]
        case .turnedEndToEnd: return ["output": [[1, rows, 7]]]
        case .yolox: return ["output": [[1, 21, 8 + extras]]]
        case .ssd: return ["boxes": [[1, rows, 4]], "scores": [[1, rows, 4]], "priors": [[1, 2, rows * 4]]]
        case .tfliteDetection:
            return ["boxes": [[1, rows, 4]], "classes": [[1, rows]], "scores": [[1, rows]], "count": [[1]]]
        case .detectionOutput: return ["output": [[1, 1, rows, 7]]]
        case .scoredBoxes: return ["boxes": [[1, rows, 5]], "classes": [[1, rows]]]
        case .detr: return ["boxes": [[1, rows, 4]], "scores": [[1, rows, 4]]]
        case .corners: return ["boxes": [[1, rows, 4]], "scores": [[1, rows, 3]]]
        case .retinanet:
            return [
                "boxes": [[1, 36, 4, 4], [1, 36, 2, 2], [1, 36, 1, 1]],
                "scores": [[1, 27, 4, 4], [1, 27, 2, 2], [1, 27, 1, 1]],
            ]
        case .fcos:
            return [
                "boxes": [[1, 4, 4, 4], [1, 2, 2, 4]], "scores": [[1, 3, 4, 4], [1, 2, 2, 3]],
                "centerness": [[1, 1, 4, 4], [1, 2, 2, 1]],
            ]
        case .yolov3Maps, .yolov5Maps: return ["output": [[1, 24, 4, 4], [1, 2, 2, 24], [1, 3, 1, 1, 8]]]
        case .yolov8Maps: return ["output": [[1, 67, 4, 4], [1, 2, 2, 67], [1, 67, 1, 1]]]
        case .nanodet: return ["output": [[1, 22, 35]]]
        case .picodet: return ["boxes": [[1, 22, 32]], "scores": [[1, 3, 22]]]
        case .damoYOLO: return ["boxes": [[1, 21, 68]], "scores": [[1, 21, 3]]]
        case .rtmdet:
            return [
                "boxes": [[1, 4, 4, 4], [1, 2, 2, 4], [1, 4, 1, 1]],
                "scores": [[1, 3, 4, 4], [1, 2, 2, 3], [1, 3, 1, 1]],
            ]
        case .scrfd: return ["boxes": [[32, 4], [8, 4], [2, 4]], "scores": [[32, 3], [8, 3], [2, 3]]]
        case .yunet:
            return [
                "boxes": [[1, 16, 4], [1, 4, 4], [1, 1, 4]], "scores": [[1, 16, 3], [1, 4, 3], [1, 1, 3]],
                "objectness": [[1, 16, 1], [1, 4, 1], [1, 1, 1]],
            ]
        case .blazeface: return ["boxes": [[1, 56, 4]], "scores": [[1, 56, 3]]]
        case .fastestdet: return ["output": [[1, 8, 2, 2]]]
        case .centernet: return ["sizes": [[1, 2, 8, 8]], "centers": [[1, 2, 8, 8]], "scores": [[1, 3, 8, 8]]]
        }
    }

    private static let haveMaps: [BoxLayout] = [
        .retinanet, .fcos, .yolov3Maps, .yolov5Maps, .yolov8Maps, .rtmdet, .fastestdet, .centernet,
    ]

    @Test(
        "NaN, infinity and extreme values in every layout are refused, or give finite boxes within the picture",
        arguments: BoxLayout.allCases)
    func boxesStayFinite(_ layout: BoxLayout) throws {
        let seed = SplitMix.seed(for: "boxesStayFinite(\(layout))")
        var random = SplitMix(seed: seed)
        for _ in 0..<Self.rounds {
            try Self.unlessRefused { try checkBoxes(layout, &random) }
        }
    }

    private func checkBoxes(_ layout: BoxLayout, _ random: inout SplitMix) throws {
        let hasExtras = [.yolov5, .yolov8, .endToEnd, .yolox].contains(layout)
        let coefficients = hasExtras ? Int.random(in: 0...4, using: &random) : 0
        let points = hasExtras ? Int.random(in: 0...3, using: &random) : 0
        let shapes = Self.shapes(layout, extras: coefficients + 3 * points, &random)
        var decoding = BoxDecoding(layout: layout)
        decoding.extras = coefficients + 3 * points
        decoding.background = Self.background(layout, &random)
        decoding.form = BoxForm.allCases.randomElement(using: &random) ?? .centers
        decoding.units = BoxUnits.allCases.randomElement(using: &random) ?? .pixels
        let scopes = SuppressionScope.allCases.filter { $0 != .peaks || Self.haveMaps.contains(layout) }
        decoding.suppression = scopes.randomElement(using: &random) ?? .none
        decoding.scores = ScoreForm.allCases.randomElement(using: &random) ?? .sigmoid
        decoding.multiLabel = Bool.random(using: &random)
        if layout == .fcos { decoding.strides = [8, 16] }
        if layout == .retinanet {
            let boxes = [[Float]](repeating: [10, 20], count: 9)
            decoding.priors = .grid([8, 16, 32].map { PriorBoxes.Level(stride: $0, boxes: boxes) })
        }
        let decoder = try BoxDecoder(decoding, shapes: shapes, width: 32, height: 32, classes: 3)
        let isFinite = random.chance(70)
        let tensors = OwnedTensors(
            shapes.flatMap { role, shapes in
                shapes.map { (role, $0, Self.tensor($0, isFinite: isFinite, &random)) }
            })
        var options = BoxOptions()
        options.threshold = [nil, 0, 0.25, 1].randomElement(using: &random) ?? nil
        options.iou = [nil, 0, 0.5, 1].randomElement(using: &random) ?? nil
        options.maximum = [nil, 1, 7, .max].randomElement(using: &random) ?? nil
        options.classes = [nil, [0], [1, 2], [.max]].randomElement(using: &random) ?? nil
        let found = try tensors.withTensors { try decoder.detections(in: $0, options: options) }
        #expect(found.count <= decoding.maxDetections)
        let map = PictureMap(
            x: AxisMap(scale: 2.5, origin: -7, length: 60, seen: 0...60),
            y: AxisMap(scale: 1.5, origin: 3, length: 50, seen: 3...50))
        for one in found {
            // Class numbers of a model are bounded only by the type.
            #expect((0...1).contains(one.confidence) && (0..<decoder.classes).contains(one.index))
            guard let box = map.rectangle(one.box) else { continue }
            #expect(box.x >= 0 && box.width > 0 && box.x + box.width <= 60.0001)
            #expect(box.y >= 0 && box.height > 0 && box.y + box.height <= 50.0001)
        }
        for one in found.prefix(2) {
            #expect(one.extras.count == coefficients + 3 * points)
            var reading = KeypointDecoding(layout: .points)
            reading.order = .xyScore
            let places = try PointReader(reading, width: 32, height: 32)
                .points(one.extras[coefficients...], threshold: 0.1)
            #expect(places.count == points)
            for place in places { #expect(place.map { $0.x.isFinite && $0.y.isFinite } ?? true) }
            guard coefficients > 0 else { continue }
            let shape = [1, coefficients, 4, 5]
            let masks = try InstanceMaskDecoder(shape: shape, coefficients: coefficients, width: 32, height: 32)
            let mask = try OwnedTensors([("prototypes", shape, Self.tensor(shape, isFinite: isFinite, &random))])
                .withTensors {
                    try masks.mask(
                        of: one, coefficients: one.extras[..<coefficients],
                        prototypes: try #require($0["prototypes"]?.first), in: map, maximum: .max)
                }
            #expect(mask.map { $0.counts.reduce(0, +) == 60 * 50 } == true)
        }
    }

    /// A background class that fits the layout's shapes: scores of `ssd` and `detr` have a column for it.
    private static func background(_ layout: BoxLayout, _ random: inout SplitMix) -> BackgroundClass {
        switch layout {
        case .ssd, .detr: [.first, .last].randomElement(using: &random) ?? .first
        case .endToEnd, .turnedEndToEnd, .tfliteDetection, .detectionOutput, .scoredBoxes:
            BackgroundClass.allCases.randomElement(using: &random) ?? .none
        default: .none
        }
    }

    @Test("embeddings give class probabilities from 0 to 1, and those with NaN or infinity are refused")
    func vectorsOfRubbish() throws {
        let seed = SplitMix.seed(for: "vectorsOfRubbish")
        var random = SplitMix(seed: seed)
        for _ in 0..<Self.rounds {
            let dimension = Int.random(in: 1...40, using: &random), count = Int.random(in: 1...20, using: &random)
            let embedding = Self.tensor([dimension], isFinite: random.chance(50), &random)
            let isFinite = embedding.allSatisfy(\.isFinite)
            for normalization in EmbeddingNormalization.allCases {
                let found = embedding.withUnsafeBufferPointer { normalization.apply($0) }
                #expect(found?.count == (isFinite ? dimension : nil))
            }
            let isSound = Bool.random(using: &random)
            let vectors =
                isSound
                ? (0..<count * dimension).map { _ in Float.random(in: -2...2, using: &random) }
                : Self.tensor([count * dimension], &random)
            let scale: Float = [1, 100, 1e30, .greatestFiniteMagnitude, .nan, 0].randomElement(using: &random) ?? 1
            let classes = EmbeddingClasses(vectors: vectors, dimension: dimension, scale: scale)
            #expect(classes != nil || !isSound || !(scale > 0))
            guard let classes else { continue }
            // Embeddings of a wrong length are not read.
            for wrong in [embedding, embedding + [1], embedding.dropLast()] {
                let found = wrong.withUnsafeBufferPointer { classes.probabilities($0) }
                #expect((found == nil) == (wrong.count == dimension && !isFinite))
                #expect(found.map { $0.count == count && $0.allSatisfy { (0...1).contains($0) } } ?? true)
            }
        }
    }

    @Test("of a million candidates with rising scores the last 300 are kept")
    func aMillionCandidatesKeepTheBest() throws {
        let count = 1_000_000
        var values = [Float](repeating: 0, count: count * 6)
        for row in 0..<count {
            // Each candidate is better than all earlier ones.
            values[row * 6] = Float(row % 1_000)
            values[row * 6 + 1] = Float(row / 1_000)
            values[row * 6 + 2] = 0.5
            values[row * 6 + 3] = 0.5
            values[row * 6 + 4] = 0.3 + 0.6 * Float(row) / Float(count)
        }
        let tensors = OwnedTensors([("output", [1, count, 6], values)])
        let decoder = try BoxDecoder(
            BoxDecoding(layout: .yolov8), shapes: ["output": [[1, count, 6]]], width: 1_000, height: 1_000, classes: 2)
        let found = try tensors.withTensors { try decoder.detections(in: $0) }
        #expect(found.count == 300)
        let best = found.map { Int($0.box.left + 0.5) + 1_000 * Int($0.box.top + 0.5) }
        // Scores of neighbors may be equal in single precision; then the first one precedes.
        #expect(best.sorted().first.map { $0 > count - 320 } == true)
    }

    @Test("decoding detections throws cancelled when the request is cancelled")
    func cancellationEndsIt() throws {
        let tensors = OwnedTensors([("output", [1, 7, 8_400], [Float](repeating: 0.9, count: 7 * 8_400))])
        let decoder = try BoxDecoder(
            BoxDecoding(layout: .yolov8), shapes: ["output": [[1, 7, 8_400]]], width: 640, height: 640, classes: 3)
        #expect(throws: ObservationError.cancelled) {
            _ = try tensors.withTensors { try decoder.detections(in: $0, isCancelled: { true }) }
        }
    }

    @Test("masks of NaN and infinity are refused, or cover every pixel once, and keypoints are finite")
    func masksAndPointsAndVectorsOfRubbish() throws {
        let seed = SplitMix.seed(for: "masksAndPointsAndVectorsOfRubbish")
        var random = SplitMix(seed: seed)
        let picture = PictureMap(
            x: AxisMap(scale: 2.5, origin: -7, length: 60, seen: 0...60),
            y: AxisMap(scale: 1.5, origin: 3, length: 50, seen: 3...50))
        for _ in 0..<Self.rounds {
            let isFinite = random.chance(50)
            for layout in MaskLayout.allCases {
                let shape = layout == .indices ? [1, 1, 6, 7] : [1, 3, 6, 7]
                let decoder = try MaskDecoder(
                    MaskDecoding(layout: layout), shape: shape, width: 32, height: 32, classes: nil)
                let tensors = OwnedTensors([("output", shape, Self.tensor(shape, isFinite: isFinite, &random))])
                try Self.unlessRefused {
                    let map = try tensors.withTensors { try decoder.map(try #require($0["output"]?.first)) }
                    let mask = PictureMask(map, in: picture)
                    let runs = try mask.runLengths(of: Set(0..<map.classes), maximum: .max)
                    #expect(
                        runs?.mapValues(\.area)
                            == Dictionary(uniqueKeysWithValues: try mask.areas().enumerated().map { ($0, $1) }))
                }
            }
            for layout in KeypointLayout.allCases {
                let shape = layout == .points ? [1, 5, 3] : [1, 5, 6, 7]
                let decoder = try KeypointDecoder(
                    KeypointDecoding(layout: layout), shape: shape, width: 32, height: 32, names: 5)
                let tensors = OwnedTensors([("output", shape, Self.tensor(shape, isFinite: isFinite, &random))])
                try Self.unlessRefused {
                    let points = try tensors.withTensors { try decoder.keypoints(try #require($0["output"]?.first)) }
                    #expect(points.count == 5)
                    for point in points { #expect(point.map { $0.x.isFinite && $0.y.isFinite } ?? true) }
                }
            }
            let decoder = try InstanceMaskDecoder(shape: [1, 4, 6, 7], coefficients: 4, width: 32, height: 32)
            let tensors = OwnedTensors([
                ("prototypes", [1, 4, 6, 7], Self.tensor([1, 4, 6, 7], isFinite: isFinite, &random))
            ])
            let coefficients = Self.tensor([4], isFinite: isFinite, &random)
            let one = Detection(box: Box(left: -1e9, top: 2, right: 30, bottom: 1e9), index: 0, confidence: 1)
            try Self.unlessRefused {
                let mask = try tensors.withTensors {
                    try decoder.mask(
                        of: one, coefficients: coefficients[...], prototypes: try #require($0["prototypes"]?.first),
                        in: picture, maximum: .max)
                }
                #expect(mask.map { $0.counts.reduce(0, +) == 60 * 50 } == true)
            }
        }
    }
}
