import Foundation
import Observations
import TestSupport
import Testing

/// Turned boxes, compared with a NumPy decoder (`Tests/FixtureMakers/make-ultralytics-fixtures`).
@Suite struct TurnedBoxTests {
    struct Case: Decodable, Sendable, CustomTestStringConvertible {
        struct Found: Decodable, Sendable {
            let index: Int
            let confidence: Double, angle: Double
            let corners: [[Double]]
        }

        let classes: Int, rows: Int
        let threshold: Float, iou: Float
        let values: [Float]
        let expected: [Found]
        var testDescription: String { "\(rows) rows, \(classes) classes, IoU \(iou)" }

        static func load() throws -> [Case] {
            let file = SharedData.packageRoot.appendingPathComponent("Tests/ObservationsTests/Fixtures/turned.json")
            return try JSONDecoder().decode([Case].self, from: try Data(contentsOf: file))
        }

        func detections(_ change: (inout BoxOptions) -> Void = { _ in }) throws -> [Detection] {
            var decoding = BoxDecoding(layout: .turned)
            (decoding.threshold, decoding.iou) = (threshold, iou)
            let shape = [1, 5 + classes, rows]
            let decoder = try BoxDecoder(decoding, shapes: ["output": [shape]], width: 96, height: 96, classes: classes)
            var options = BoxOptions()
            change(&options)
            return try OwnedTensors([("output", shape, values)]).withTensors {
                try decoder.detections(in: $0, options: options)
            }
        }
    }

    /// A hundredth of a pixel, and of a degree.
    @Test("turned boxes equal those of a NumPy decoder", arguments: try! Case.load())
    func decodesAsTheReference(_ one: Case) throws {
        let found = try one.detections()
        #expect(found.count == one.expected.count && !found.isEmpty)
        for (detection, expected) in zip(found, one.expected) {
            #expect(detection.index == expected.index)
            #expect(abs(Double(detection.confidence) - expected.confidence) < 1e-5)
            let angle = try #require(detection.angle)
            #expect(abs(Double(angle) - expected.angle) < 0.01 * .pi / 180)
            let corners = TurnedBox(detection.box, angle: angle).corners.all
            for (corner, wanted) in zip(corners, expected.corners) {
                #expect(abs(corner.x - wanted[0]) < 0.01 && abs(corner.y - wanted[1]) < 0.01)
            }
        }
        let first = try one.detections { $0.maximum = 1 }
        #expect(first == Array(found.prefix(1)))
        let ones = try one.detections { $0.classes = [0] }
        #expect(ones == found.filter { $0.index == 0 })
    }

    /// Three boxes in a row, each over the next by more than the limit, and the first not over the last.
    private static let chain = [
        TurnedBox(x: 40, y: 60, width: 40, height: 20, angle: 0),
        TurnedBox(x: 46, y: 60, width: 40, height: 20, angle: 0),
        TurnedBox(x: 52, y: 60, width: 40, height: 20, angle: 0),
    ]

    @Test("a box that is dropped itself drops others")
    func aDroppedBoxDrops() throws {
        let near = TurnedSuppression.overlap(Self.chain[0], Self.chain[1])
        let far = TurnedSuppression.overlap(Self.chain[0], Self.chain[2])
        let iou = Float((near + far) / 2)
        #expect(near > far)
        #expect(try TurnedSuppression.survivors(of: Self.chain, labels: nil, iou: iou, maximum: 9) == [0])
        #expect(try TurnedSuppression.survivors(of: Self.chain, labels: [0, 1, 0], iou: iou, maximum: 9) == [0, 1, 2])
        #expect(
            try TurnedSuppression.survivors(of: Self.chain, labels: nil, iou: 1, maximum: 2, maximumPerClass: 1) == [0])
    }

    /// 1 - sqrt(1 - exp(-d)) by hand, for centers 6 apart and equal shapes: d = 6^2 / (8 * 40^2 / 12).
    @Test("the overlap of two boxes is that of their Gaussians")
    func theOverlapIsThatOfGaussians() {
        let distance = 36.0 / (8 * 1_600 / 12)
        let expected = 1 - (1 - exp(-distance)).squareRoot()
        #expect(abs(TurnedSuppression.overlap(Self.chain[0], Self.chain[1]) - expected) < 1e-6)
        // A square has the same Gaussian at each angle.
        let square = TurnedBox(x: 5, y: 5, width: 8, height: 8, angle: 0)
        var turned = square
        turned.angle = .pi / 4
        #expect(TurnedSuppression.overlap(square, turned) > 0.999)
        turned.x = 500
        #expect(TurnedSuppression.overlap(square, turned) == 0)
        let nothing = TurnedBox(x: 5, y: 5, width: 0, height: 0, angle: 0)
        #expect(TurnedSuppression.overlap(nothing, nothing).isFinite)
    }

    @Test("an angle that is no number is an error")
    func anAngleMustBeANumber() throws {
        for angle in [Float.nan, .infinity] {
            let decoder = try BoxDecoder(
                BoxDecoding(layout: .turnedEndToEnd), shapes: ["output": [[1, 1, 7]]], width: 8, height: 8, classes: 2)
            #expect(throws: ObservationError.notNumbers(role: "angles")) {
                try OwnedTensors([("output", [1, 1, 7], [4, 4, 2, 2, 0.9, 1, angle])]).withTensors {
                    _ = try decoder.detections(in: $0)
                }
            }
        }
    }

    @Test("ten thousand equal boxes are suppressed within the limit of time that a request polls")
    func suppressionIsCancelled() {
        let boxes = [TurnedBox](repeating: Self.chain[0], count: 10_000)
        var polls = 0
        #expect(throws: ObservationError.cancelled) {
            _ = try TurnedSuppression.survivors(of: boxes, labels: nil, iou: 0.5, maximum: 300) {
                polls += 1
                return polls == 3
            }
        }
    }

    // MARK: The way back to the picture

    private static func axis(_ scale: Double, _ origin: Double, _ length: Int) -> AxisMap {
        AxisMap(scale: scale, origin: origin, length: length, seen: 0...Double(length))
    }

    @Test("a turned box keeps its angle in a picture that was scaled by one factor, and may reach beyond it")
    func aLetterboxKeepsTheAngle() {
        let map = PictureMap(x: Self.axis(2, -10, 100), y: Self.axis(2, 4, 60))
        let turned = map.turned(TurnedBox(x: 5, y: 10, width: 8, height: 4, angle: 7))
        #expect(turned.angle == 7)
        // The centre (0, 24), half the sides (8, 4).
        let corner = turned.corners.topLeft
        #expect(abs(corner.x - (-8 * cos(7.0) + 4 * sin(7.0))) < 1e-9)
        #expect(abs(corner.y - (24 - 8 * sin(7.0) - 4 * cos(7.0))) < 1e-9)
        #expect(turned.corners.all.contains { $0.x < 0 })
        let box = map.around(turned)
        #expect(box.x == 0 && box.width > 0 && box.x + box.width <= 100)
        let outside = map.around(map.turned(TurnedBox(x: -90, y: 10, width: 8, height: 4, angle: 0)))
        // Its right edge is at -10 + 2 * (-90 + 4).
        #expect(outside.x == 0 && outside.width == -182 && outside.height > 0)
    }

    /// At 45 degrees with x twice as large: atan(1 / 2).
    @Test("a turned box in a stretched picture has the angle of its stretched width")
    func aStretchChangesTheAngle() {
        let map = PictureMap(x: Self.axis(2, 0, 100), y: Self.axis(1, 0, 100))
        let turned = map.turned(TurnedBox(x: 20, y: 20, width: 10, height: 10, angle: .pi / 4))
        #expect(abs(turned.angle - atan(0.5)) < 1e-12)
        let whole = map.turned(TurnedBox(x: 20, y: 20, width: 10, height: 10, angle: .pi / 4 - 4 * .pi))
        #expect(abs(whole.angle - (atan(0.5) - 4 * .pi)) < 1e-12)
        let edge = (
            turned.corners.topRight.x - turned.corners.topLeft.x, turned.corners.topRight.y - turned.corners.topLeft.y
        )
        #expect(abs(edge.0 - 20 * cos(.pi / 4)) < 1e-9 && abs(edge.1 - 10 * sin(.pi / 4)) < 1e-9)
    }
}
