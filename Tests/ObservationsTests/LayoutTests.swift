import Foundation
import Observations
import Testing

/// The detections of decoders, compared with a numpy decoder: Tests/FixtureMakers/make-detector-fixtures writes inputs
/// and results.
@Suite struct LayoutTests {
    @Test("the detections of every layout equal those of a NumPy decoder", arguments: try! LayoutFixture.load().cases)
    func decodesAsTheReference(_ fixture: LayoutFixture.Case) throws {
        let file = try LayoutFixture.load()
        let decoder = try fixture.decoder(width: file.width, height: file.height)
        let found = try fixture.withTensors { try decoder.detections(in: $0) }
        #expect(found.count == fixture.expected.count)
        #expect(!found.isEmpty)
        for (one, expected) in zip(found, fixture.expected) {
            #expect(one.index == expected.index)
            #expect(abs(Double(one.confidence) - expected.confidence) < 1e-5)
            let box = [one.box.left, one.box.top, one.box.right, one.box.bottom]
            for (side, wanted) in zip(box, expected.box) { #expect(abs(Double(side) - wanted) < 2e-3) }
        }
    }

    @Test("the threshold, limit and classes of a request select among the detections")
    func aHigherThresholdAndFewerDetectionsAndOneClass() throws {
        let file = try LayoutFixture.load()
        let fixture = try #require(file.cases.first { $0.name == "yolov8, rows" })
        let decoder = try fixture.decoder(width: file.width, height: file.height)
        var options = BoxOptions()
        options.threshold = 0.5
        let strict = try fixture.withTensors { try decoder.detections(in: $0, options: options) }
        #expect(strict.count == fixture.expected.count { $0.confidence >= 0.5 })
        options.maximum = 3
        #expect(try fixture.withTensors { try decoder.detections(in: $0, options: options) } == Array(strict.prefix(3)))
        options = BoxOptions()
        options.classes = [2]
        let ones = try fixture.withTensors { try decoder.detections(in: $0, options: options) }
        #expect(ones.map(\.index).allSatisfy { $0 == 2 })
        #expect(ones.count == fixture.expected.count { $0.index == 2 })
    }

    /// Models that output class numbers, of which one may mean background.
    @Test("if a model outputs class numbers, the background class is omitted")
    func classNumbersWithoutBackground() throws {
        let rows: [Float] = [0, 0, 10, 10, 0.9, 0, 20, 0, 30, 10, 0.8, 1, 40, 0, 50, 10, 0.7, 2]
        func indices(_ background: BackgroundClass, _ scores: ScoreForm = .probabilities) throws -> [Int] {
            var decoding = BoxDecoding(layout: .endToEnd)
            decoding.background = background
            decoding.scores = scores
            decoding.threshold = 0.68
            let decoder = try BoxDecoder(
                decoding, shapes: ["output": [[1, 3, 6]]], width: 64, height: 64, classes: background == .none ? 3 : 2)
            return try OwnedTensors([("output", [1, 3, 6], rows)]).withTensors { try decoder.detections(in: $0) }
                .map(\.index)
        }
        #expect(try indices(.none) == [0, 1, 2])
        #expect(try indices(.first) == [0, 1])
        #expect(try indices(.last) == [0, 1])
        // The sigmoid of 0.8 is 0.690, that of 0.7 is 0.668.
        #expect(try indices(.none, .sigmoid) == [0, 1])
    }

    /// Maps of wide pictures, channels last: the map with the largest cells has a single row.
    @Test("a map with a single row of cells is decoded")
    func aMapOfOneRowOfCells() throws {
        var decoding = BoxDecoding(layout: .retinanet)
        decoding.scores = .probabilities
        decoding.priors = .grid([PriorBoxes.Level(stride: 32, boxes: [[10, 20], [20, 10]])])
        let shapes = ["boxes": [[1, 1, 3, 8]], "scores": [[1, 1, 3, 2]]]
        let decoder = try BoxDecoder(decoding, shapes: shapes, width: 96, height: 32, classes: 1)
        let found = try OwnedTensors([
            ("boxes", [1, 1, 3, 8], [Float](repeating: 0, count: 24)),
            ("scores", [1, 1, 3, 2], [0, 0.9, 0, 0, 0.8, 0]),
        ]).withTensors { try decoder.detections(in: $0) }
        #expect(
            found.map(\.box) == [
                Box(left: 6, top: 11, right: 26, bottom: 21), Box(left: 75, top: 6, right: 85, bottom: 26),
            ])
    }

    /// SCRFD: two rows in each cell; distances and points are relative to its top left corner, in multiples of the
    /// stride (insightface's `distance2bbox` and `distance2kps`, computed by hand).
    @Test("two rows in each cell give boxes and points by distance, as in SCRFD")
    func twoRowsOfACellAndPointsByDistance() throws {
        var decoding = BoxDecoding(layout: .fcos)
        (decoding.strides, decoding.anchors, decoding.offset) = ([8], 2, 0)
        (decoding.scores, decoding.units, decoding.extras) = (.probabilities, .fractions, 4)
        // 16 x 8 pixels: two cells, four rows.
        let shapes = ["boxes": [[4, 4]], "scores": [[4, 1]], "points": [[4, 4]]]
        let decoder = try BoxDecoder(decoding, shapes: shapes, width: 16, height: 8, classes: 1)
        var boxes = [Float](repeating: 0, count: 16), points = boxes
        boxes.replaceSubrange(12..<16, with: [0.5, 0, 1, 0.75])
        boxes.replaceSubrange(0..<4, with: [0, 0, 0.25, 0.5])
        points.replaceSubrange(12..<16, with: [0.25, 0.5, -0.25, 0.125])
        let found = try OwnedTensors([
            ("boxes", [4, 4], boxes), ("scores", [4, 1], [0.6, 0, 0, 0.9]), ("points", [4, 4], points),
        ]).withTensors { try decoder.detections(in: $0) }
        #expect(
            found.map(\.box) == [Box(left: 4, top: 0, right: 16, bottom: 6), Box(left: 0, top: 0, right: 2, bottom: 4)])
        #expect(found.map(\.extras) == [[10, 4, 6, 1], [0, 0, 0, 0]])
        // One row for each cell: half of the actual number.
        decoding.anchors = 1
        #expect(throws: ObservationError.self) {
            try BoxDecoder(decoding, shapes: shapes, width: 16, height: 8, classes: 1)
        }
    }

    /// If a map has as many cells in each direction as a box has numbers, the scores determine the order of the axes.
    @Test("a box map with as many cells as channels takes its axis order from the scores")
    func aMapWithAsManyCellsAsChannels() throws {
        var decoding = BoxDecoding(layout: .fcos)
        decoding.strides = [8]
        decoding.scores = .probabilities
        func boxes(_ scores: [Int], at place: Int) throws -> [Box] {
            let shapes = ["boxes": [[1, 4, 4, 4]], "scores": [scores]]
            let decoder = try BoxDecoder(decoding, shapes: shapes, width: 32, height: 32, classes: 3)
            var values = [Float](repeating: 0, count: 48)
            values[place] = 0.9
            return try OwnedTensors([
                ("boxes", [1, 4, 4, 4], (0..<64).map { Float($0 % 4) }), ("scores", scores, values),
            ]).withTensors { try decoder.detections(in: $0) }.map(\.box)
        }
        // The second cell of the first row has its center at 12, 4. Channels last, its distances are 0 1 2 3.
        #expect(try boxes([1, 4, 4, 3], at: 3) == [Box(left: 12, top: 3, right: 14, bottom: 7)])
        #expect(try boxes([1, 3, 4, 4], at: 1) == [Box(left: 11, top: 3, right: 13, bottom: 5)])
    }

    /// Requests choose class numbers freely.
    @Test("a request for class numbers that do not exist finds only the existing classes")
    func anyClassNumberCanBeAskedFor() throws {
        let file = try LayoutFixture.load()
        for name in ["yolov8, rows", "yolo-end-to-end", "ssd, priors given"] {
            let fixture = try #require(file.cases.first { $0.name == name })
            let decoder = try fixture.decoder(width: file.width, height: file.height)
            var options = BoxOptions()
            options.classes = [.max]
            #expect(try fixture.withTensors { try decoder.detections(in: $0, options: options) }.isEmpty)
            options.classes = [.max, 1 << 20, 1]
            let found = try fixture.withTensors { try decoder.detections(in: $0, options: options) }
            #expect(!found.isEmpty && found.allSatisfy { $0.index == 1 })
        }
    }

    @Test("shapes that do not fit a layout are refused with the tensor and the expected shape")
    func shapesThatDoNotFitAreNamed() {
        func message(_ layout: BoxLayout, _ shapes: [String: [[Int]]], classes: Int?) -> String {
            do throws(ObservationError) {
                _ = try BoxDecoder(BoxDecoding(layout: layout), shapes: shapes, width: 64, height: 64, classes: classes)
                return "none"
            } catch {
                return error.message
            }
        }
        #expect(
            message(.yolov8, ["output": [[1, 9, 100]]], classes: 3)
                == "output: expected [1, 7, rows] or [1, rows, 7] (4 box + 3 classes), found [1, 9, 100]")
        #expect(
            message(.yolov5, ["output": [[1, 100]]], classes: 3)
                == "output: expected [1, 8, rows] or [1, rows, 8] (4 box + 1 objectness + 3 classes), found [1, 100]")
        #expect(
            message(.corners, ["boxes": [[1, 10, 4]], "scores": [[1, 9, 2]]], classes: 2)
                == "scores: expected [1, 10, 2], found [1, 9, 2]")
        #expect(
            message(.yolox, ["output": [[1, 83, 8]]], classes: 3)
                == "boxes: expected 84 rows, as many as priors, found 83")
        #expect(message(.yolov8, ["output": [[1, 7, .max]]], classes: 3).hasPrefix("output: expected at most"))
        #expect(message(.yolov8, ["output": [[1, -7, 5]]], classes: 3).hasPrefix("output: expected at most"))
        #expect(message(.yolov8, [:], classes: 3).hasPrefix("output: expected [1, 7, rows]"))
        #expect(
            message(.ssd, ["boxes": [[1, 8, 4]], "scores": [[1, 8, 3]]], classes: 2).hasPrefix("priors: expected"))
    }
}

/// Tests/ObservationsTests/Fixtures/layouts.json.
struct LayoutFixture: Decodable {
    let width: Int, height: Int
    let cases: [Case]

    struct Case: Decodable, CustomTestStringConvertible, Sendable {
        let name: String
        let decoding: Settings
        let classes: Int
        let priors: [Float]?
        let levels: [Level]?
        let tensors: [String: [Tensor]]
        let expected: [Expected]
        var testDescription: String { name }
    }

    struct Settings: Decodable, Sendable {
        let layout: String
        let threshold: Float, iou: Float
        let suppression: String
        let multi_label: Bool
        let max: Int
        let scores: String?, background: String?, units: String?, form: String?
        let strides: [Int]?
    }

    struct Level: Decodable, Sendable {
        let stride: Int
        let boxes: [[Float]]
        let offset: Float
    }

    struct Tensor: Decodable, Sendable {
        let shape: [Int]
        let values: [Float]
    }

    struct Expected: Decodable, Sendable {
        let index: Int
        let confidence: Double
        let box: [Double]
    }

    static func load() throws -> LayoutFixture {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/layouts.json")
        return try JSONDecoder().decode(LayoutFixture.self, from: Data(contentsOf: path))
    }
}

extension LayoutFixture.Case {
    func decoder(width: Int, height: Int) throws -> BoxDecoder {
        var wanted = BoxDecoding(layout: try #require(BoxLayout(rawValue: decoding.layout)))
        wanted.threshold = decoding.threshold
        wanted.iou = decoding.iou
        wanted.suppression = try #require(SuppressionScope(rawValue: decoding.suppression))
        wanted.multiLabel = decoding.multi_label
        wanted.maxDetections = decoding.max
        if let scores = decoding.scores { wanted.scores = try #require(ScoreForm(rawValue: scores)) }
        if let background = decoding.background {
            wanted.background = try #require(BackgroundClass(rawValue: background))
        }
        if let units = decoding.units { wanted.units = try #require(BoxUnits(rawValue: units)) }
        if let form = decoding.form { wanted.form = try #require(BoxForm(rawValue: form)) }
        if let strides = decoding.strides { wanted.strides = strides }
        if let priors { wanted.priors = .given(priors) }
        if let levels {
            wanted.priors = .grid(
                levels.map { PriorBoxes.Level(stride: $0.stride, boxes: $0.boxes, offset: $0.offset) })
        }
        return try BoxDecoder(
            wanted, shapes: tensors.mapValues { $0.map(\.shape) }, width: width, height: height, classes: classes)
    }

    func withTensors<R>(_ body: ([String: [OutputTensor]]) throws -> R) throws -> R {
        let all = tensors.flatMap { role, tensors in tensors.map { (role, $0.shape, $0.values) } }
        return try OwnedTensors(all).withTensors(body)
    }
}

/// The tensors of a test, in their own memory.
final class OwnedTensors {
    private let memory: [(role: String, shape: [Int], values: UnsafeMutableBufferPointer<Float>)]

    init(_ tensors: [(role: String, shape: [Int], values: [Float])]) {
        memory = tensors.map { role, shape, values in
            let buffer = UnsafeMutableBufferPointer<Float>.allocate(capacity: values.count)
            _ = buffer.initialize(from: values)
            return (role, shape, buffer)
        }
    }

    deinit { for (_, _, values) in memory { values.deallocate() } }

    func withTensors<R>(_ body: ([String: [OutputTensor]]) throws -> R) throws -> R {
        var tensors: [String: [OutputTensor]] = [:]
        for (role, shape, values) in memory {
            tensors[role, default: []].append(
                try #require(OutputTensor(shape: shape, values: UnsafeBufferPointer(values))))
        }
        return try body(tensors)
    }
}
