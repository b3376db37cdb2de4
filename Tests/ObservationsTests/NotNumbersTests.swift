import Observations
import TestSupport
import Testing

/// Detectors with NaN among the numbers that decide: no answer is better than one that lacks a detection.
@Suite struct NotNumbersTests {
    /// A detector of three rows, its tensors, and the places of scores in the tensor of scores.
    private struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let layout: BoxLayout
        let classes: Int
        let role: String
        let shapes: [String: [Int]]
        let scores: [Int]
        var isMulti = false
    }

    /// One for each way to read scores: rows of many classes and of few, with one class a box or several; columns;
    /// rows with objectness; distributions of many classes and of few; finished rows.
    private static let cases = [
        Case(
            testDescription: "rows", layout: .yolov8, classes: 20, role: "output", shapes: ["output": [1, 3, 24]],
            scores: Array(28..<48)),
        Case(
            testDescription: "short rows", layout: .yolov8, classes: 3, role: "output", shapes: ["output": [1, 4, 7]],
            scores: [11, 12, 13]),
        Case(
            testDescription: "rows, several classes", layout: .yolov8, classes: 20, role: "output",
            shapes: ["output": [1, 3, 24]], scores: Array(28..<48), isMulti: true),
        Case(
            testDescription: "columns", layout: .yolov8, classes: 20, role: "output", shapes: ["output": [1, 24, 3]],
            scores: (4..<24).map { $0 * 3 + 1 }),
        Case(
            testDescription: "distributions", layout: .detr, classes: 20, role: "scores",
            shapes: ["boxes": [1, 3, 4], "scores": [1, 3, 21]], scores: Array(21..<42)),
        Case(
            testDescription: "short distributions", layout: .detr, classes: 2, role: "scores",
            shapes: ["boxes": [1, 3, 4], "scores": [1, 3, 3]], scores: [3, 4, 5]),
        Case(
            testDescription: "finished rows", layout: .endToEnd, classes: 3, role: "output",
            shapes: ["output": [1, 3, 6]], scores: [10]),
    ]

    /// Decodes tensors in which all numbers are 0.1, except for some.
    private static func find(
        _ one: Case, _ changes: [Int: Float], threshold: Float = 0.5
    ) throws -> [Detection] {
        var decoding = BoxDecoding(layout: one.layout)
        (decoding.multiLabel, decoding.suppression) = (one.isMulti, .none)
        let decoder = try BoxDecoder(
            decoding, shapes: one.shapes.mapValues { [$0] }, width: 32, height: 32, classes: one.classes)
        let tensors = OwnedTensors(
            one.shapes.map { role, shape in
                var values = [Float](repeating: 0.1, count: shape.reduce(1, *))
                if role == one.role { for (place, value) in changes { values[place] = value } }
                return (role, shape, values)
            })
        var options = BoxOptions()
        options.threshold = threshold
        return try tensors.withTensors { try decoder.detections(in: $0, options: options) }
    }

    @Test("a score of NaN anywhere in a row is refused, for each way to read scores", arguments: cases)
    private func aScoreOfNaNIsRefused(_ one: Case) throws {
        #expect(try Self.find(one, [:]).isEmpty)
        for place in one.scores {
            #expect(throws: ObservationError.notNumbers(role: "scores"), "\(place)") {
                try Self.find(one, [place: .nan])
            }
        }
    }

    @Test("an objectness of NaN is refused, a class score of NaN only in a row whose objectness counts")
    func objectness() throws {
        // Rows of a box, the objectness and three classes.
        let one = Case(
            testDescription: "", layout: .yolov5, classes: 3, role: "output", shapes: ["output": [1, 3, 8]],
            scores: [])
        #expect(throws: ObservationError.notNumbers(role: "scores")) { try Self.find(one, [12: .nan]) }
        #expect(throws: ObservationError.notNumbers(role: "scores")) { try Self.find(one, [12: 0.9, 14: .nan]) }
        #expect(try Self.find(one, [14: .nan]).isEmpty)
        #expect(try Self.find(one, [12: 0.9, 14: 0.9]).count == 1)
    }

    @Test(
        "logits of infinity, or of nothing but -infinity, have no softmax; -infinity beside others is a probability of 0"
    )
    func distributions() throws {
        let one = Self.cases[5]
        for changes: [Int: Float] in [[3: .infinity], [3: -.infinity, 4: -.infinity, 5: -.infinity]] {
            #expect(throws: ObservationError.notNumbers(role: "scores")) { try Self.find(one, changes) }
        }
        // The background is the last class.
        #expect(try Self.find(one, [3: -.infinity, 4: -.infinity]).isEmpty)
        let found = try Self.find(one, [3: -.infinity, 4: 0, 5: -.infinity])
        #expect(found.map(\.index) == [1] && found.map(\.confidence) == [1])
    }

    @Test("a box of NaN is refused where its score counts, and not looked at elsewhere")
    func boxes() throws {
        let one = Self.cases[1]
        #expect(try Self.find(one, [7: .nan]).isEmpty)
        #expect(throws: ObservationError.notNumbers(role: "boxes")) { try Self.find(one, [7: .nan, 12: 0.9]) }
        let finished = Self.cases[6]
        // A class number of NaN.
        #expect(try Self.find(finished, [11: .nan]).isEmpty)
        #expect(throws: ObservationError.notNumbers(role: "scores")) { try Self.find(finished, [10: 0.9, 11: .nan]) }
    }
}
