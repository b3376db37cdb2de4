import Foundation
import Observations
import TestSupport
import Testing

/// Heads described by parts, beyond the families' fixtures (`Tests/EndToEndTests/Answers/HeadFixturesTests.swift`).
@Suite struct HeadPartsTests {
    /// A head of distances from cells of 8 pixels, with two classes: first the box, then the scores.
    private static func head() -> BoxDecoding {
        var decoding = BoxDecoding()
        decoding.tensors = [HeadTensor("output", [.box, .scores])]
        decoding.coding.kind = .distances
        (decoding.strides, decoding.offset) = ([8], 0)
        return decoding
    }

    /// The detections of a head with two classes in a picture of 16 rows.
    private static func find(
        _ decoding: BoxDecoding, _ shape: [Int], _ values: [Float], width: Int = 24
    ) throws -> [Detection] {
        let decoder = try BoxDecoder(decoding, shapes: ["output": [shape]], width: width, height: 16, classes: 2)
        return try OwnedTensors([("output", shape, values)]).withTensors { try decoder.detections(in: $0) }
    }

    private static func message(
        _ decoding: BoxDecoding, _ shapes: [String: [[Int]]], classes: Int? = 2
    ) -> String {
        do throws(ObservationError) {
            _ = try BoxDecoder(decoding, shapes: shapes, width: 24, height: 16, classes: classes)
            return "none"
        } catch {
            return error.message
        }
    }

    @Test("every supported order of tensor axes gives the same boxes")
    func anyOrderOfAxesGivesTheSameBoxes() throws {
        for anchors in [1, 2] {
            var decoding = Self.head()
            decoding.anchors = anchors
            decoding.suppression = .none
            decoding.threshold = 0.001
            let (down, across, count) = (2, 4, 6)
            // value(a, y, x, k)
            func value(_ a: Int, _ y: Int, _ x: Int, _ k: Int) -> Float {
                let row = (y * across + x) * anchors + a
                return k < 4 ? Float(1 + (row + k) % 3) : Float(row * 2 + k) / 60
            }
            typealias Order = (shape: [Int], at: (Int) -> (Int, Int, Int, Int))
            // The index of element i for each order of axes.
            func order(_ axes: String) -> Order {
                let extents: [Character: Int] = ["a": anchors, "y": down, "x": across, "k": count]
                return (
                    axes.map { extents[$0] ?? 1 },
                    { index in
                        var rest = index
                        var place: [Character: Int] = [:]
                        for axis in axes.reversed() {
                            place[axis] = rest % (extents[axis] ?? 1)
                            rest /= extents[axis] ?? 1
                        }
                        return (place["a"] ?? 0, place["y"] ?? 0, place["x"] ?? 0, place["k"] ?? 0)
                    }
                )
            }
            let total = down * across * anchors * count
            var found: [String: Set<String>] = [:]
            for (axes, shape) in [
                ("yxak", [1, down * across * anchors, count]), ("kyxa", [1, count, down * across * anchors]),
                ("akyx", [1, anchors * count, down, across]), ("yxak", [1, down, across, anchors * count]),
                ("akyx", [1, anchors, count, down, across]), ("ayxk", [1, anchors, down, across, count]),
                ("yxak", [1, down, across, anchors, count]),
            ] {
                let at = order(axes).at
                let values = (0..<total).map { index in
                    let (a, y, x, k) = at(index)
                    return value(a, y, x, k)
                }
                found["\(axes) \(shape)"] = Set(
                    try Self.find(decoding, shape, values, width: 32).map { "\($0.box) \($0.index) \($0.confidence)" })
            }
            #expect(Set(found.values).count == 1, "\(found)")
            #expect(found.values.first?.count == down * across * anchors)
        }
    }

    @Test("a box distribution with NaN or infinity is refused")
    func distributionsThatAreNoNumbersAreRefused() throws {
        var decoding = Self.head()
        decoding.coding.bins = 3
        var values = [Float](repeating: 0, count: 6 * 14)
        for row in 0..<6 { values[row * 14 + 12] = 0.9 }
        decoding.suppression = .none
        for (bins, value) in [(0..<1, Float.nan), (14..<15, .infinity), (28..<31, -.infinity)] {
            var wrong = values
            for bin in bins { wrong[bin] = value }
            #expect(throws: ObservationError.notNumbers(role: "boxes")) { try Self.find(decoding, [1, 6, 14], wrong) }
        }
        // Equal logits for 0, 1 and 2 have the mean 1.
        let found = try Self.find(decoding, [1, 6, 14], values)
        #expect(found.map(\.row) == [0, 1, 2, 3, 4, 5])
        #expect(found[3].box == Box(left: -1, top: 7, right: 1, bottom: 9))
    }

    @Test("tensors that do not fit a head are refused with their name and the expected shape")
    func whatDoesNotFitIsRefusedByName() {
        let head = Self.head()
        #expect(
            Self.message(head, ["output": [[1, 10_000_000, 6]]])
                == "tensors: expected at most 4000000 rows, found 10000000")
        #expect(
            Self.message(head, ["output": [[1, 7, 6]]]) == "boxes: expected 6 rows, as many as priors, found 7")
        #expect(
            Self.message(head, ["output": [[1, 5, 2, 3]]])
                == "output: expected [1, 1 x 6, 2, 3] (stride 8) or channels last (4 box + 2 classes), found [1, 5, 2, 3]"
        )
        #expect(
            Self.message(head, ["output": [[1, 6, 2, 3], [1, 6, 1, 2]]])
                == "output: expected a stride for each level, found none for level 2")
        var peaks = head
        peaks.suppression = .peaks
        #expect(Self.message(peaks, ["output": [[1, 6, 6]]]).hasPrefix("output: expected a map of cells"))
        var apart = head
        apart.tensors = [HeadTensor("boxes", [.box]), HeadTensor("scores", [.scores])]
        #expect(
            Self.message(apart, ["boxes": [[1, 4, 2, 3]], "scores": []])
                == "scores: expected as many tensors as \"boxes\": 1, found 0")
        #expect(
            Self.message(apart, ["boxes": [[1, 4, 2, 3]], "scores": [[1, 2, 3, 3]]]).hasPrefix(
                "scores: expected [1, 1 x 2, 2, 3]"))
        #expect(Self.message(apart, ["boxes": [[1, .max, 2, 3]], "scores": [[1]]]).contains("at most"))
    }

    /// Two overlapping rows and one of another class: the result is the mean of the two, weighted 3 to 1.
    @Test("weighted suppression joins overlapping boxes of a class to their weighted mean")
    func weightedSuppressionJoinsBoxes() throws {
        var decoding = BoxDecoding(layout: .corners)
        (decoding.units, decoding.suppression, decoding.threshold) = (.pixels, .weighted, 0.1)
        let decoder = try BoxDecoder(
            decoding, shapes: ["boxes": [[3, 4]], "scores": [[3, 2]]], width: 24, height: 16, classes: 2)
        let found = try OwnedTensors([
            ("boxes", [3, 4], [0, 0, 8, 8, 4, 0, 12, 8, 0, 0, 8, 8]), ("scores", [3, 2], [0.75, 0, 0.25, 0, 0, 0.5]),
        ]).withTensors { tensors in
            var options = BoxOptions()
            options.iou = 0.3
            return try decoder.detections(in: tensors, options: options)
        }
        #expect(
            found.map(\.box) == [Box(left: 1, top: 0, right: 9, bottom: 8), Box(left: 0, top: 0, right: 8, bottom: 8)])
        #expect(found.map(\.confidence) == [0.75, 0.5])
    }

    /// Powers of 0.5 and a softmax of 0.75: FastestDet's powers, and the product.
    @Test("objectness and class score are multiplied, each with its power")
    func objectnessCountsWithItsPower() throws {
        var decoding = BoxDecoding()
        decoding.tensors = [HeadTensor("output", [.box, .objectness, .scores])]
        decoding.threshold = 0.1
        let row: [Float] = [8, 8, 4, 4, 0.5, 0.81, 0.1]
        decoding.weights = ScoreWeights(objectness: 2, classes: 0.5)
        #expect(try Self.find(decoding, [1, 1, 7], row).map(\.confidence) == [0.225])
        // The minimum objectness assumes a class score of 1.
        decoding.threshold = 0.24
        #expect(try Self.find(decoding, [1, 1, 7], row).isEmpty)
        decoding.threshold = 0.25
        #expect(try Self.find(decoding, [1, 1, 7], [8, 8, 4, 4, 0.5, 1, 0]).count == 1)
        decoding.weights = .product
        decoding.scores = .softmax
        let logits: [Float] = [8, 8, 4, 4, 0, log(3), 0]
        let found = try Self.find(decoding, [1, 1, 7], logits).map(\.confidence)
        #expect(found.count == 1 && abs((found.first ?? 0) - 0.375) < 1e-6)
    }

    /// A class is found exactly if the product of its score and the objectness reaches the threshold.
    @Test(
        "a class is found exactly if its score times the objectness reaches the threshold",
        arguments: [ScoreWeights.product, .root, ScoreWeights(objectness: 0.6, classes: 0.4)],
        [ScoreForm.probabilities, .sigmoid])
    func severalClassesBesideAnObjectness(_ weights: ScoreWeights, _ form: ScoreForm) throws {
        let seed = SplitMix.seed(for: "severalClassesBesideAnObjectness")
        var random = SplitMix(seed: seed)
        var decoding = BoxDecoding()
        decoding.tensors = [HeadTensor("output", [.box, .objectness, .scores])]
        (decoding.weights, decoding.scores, decoding.multiLabel) = (weights, form, true)
        (decoding.suppression, decoding.maxDetections) = (.none, 10_000)
        let count = 400
        let rows = (0..<count).map { _ in
            (0..<3).map { _ in Float.random(in: form == .sigmoid ? -6...6 : 0...1, using: &random) }
        }
        for threshold: Float in [0, 0.05, 0.5, 0.9, 0.99] {
            decoding.threshold = threshold
            let found = try Self.find(decoding, [1, count, 7], rows.flatMap { [8, 8, 4, 4] + $0 })
            let places = Set(found.map { $0.row * 2 + $0.index })
            func probability(_ value: Float) -> Double {
                form == .sigmoid ? 1 / (1 + exp(-Double(value))) : Double(value)
            }
            for (row, values) in rows.enumerated() {
                for label in 0..<2 {
                    let score =
                        pow(probability(values[0]), Double(weights.objectness))
                        * pow(probability(values[label + 1]), Double(weights.classes))
                    guard abs(score - Double(threshold)) > 1e-5 else { continue }
                    #expect(places.contains(row * 2 + label) == (score > Double(threshold)), "\(values), \(threshold)")
                }
            }
        }
    }

    /// Cells at the edges have fewer neighbors, the first cell of the next row is not a neighbor, and of equal cells
    /// both are kept.
    @Test("a peak is a cell without a greater neighbour of the same class")
    func aPeakHasNoGreaterNeighbour() throws {
        var decoding = Self.head()
        (decoding.suppression, decoding.threshold) = (.peaks, 0.1)
        // 3 by 2 cells of class 0: the last cell of the first row exceeds the first cell of the second row, but is not
        // its neighbor.
        let scores: [Float] = [0.2, 0.3, 0.9, 0.5, 0.4, 0.9]
        let values = scores.flatMap { [Float](repeating: 1, count: 4) + [$0, 0] }
        #expect(try Self.find(decoding, [1, 2, 3, 6], values).map(\.row) == [2, 5, 3])
        // Cells above, below and diagonal are neighbors.
        let others: [(scores: [Float], peaks: [Int])] = [
            ([0.9, 0.2, 0.3, 0.5, 0.2, 0.2], [0, 2]), ([0.5, 0.2, 0.3, 0.9, 0.2, 0.2], [3, 2]),
            ([0.9, 0.2, 0.2, 0.2, 0.5, 0.2], [0]), ([0.2, 0.5, 0.2, 0.2, 0.2, 0.9], [5]),
        ]
        for (scores, peaks) in others {
            let values = scores.flatMap { [Float](repeating: 1, count: 4) + [$0, 0] }
            #expect(try Self.find(decoding, [1, 2, 3, 6], values).map(\.row) == peaks, "\(scores)")
        }
        // Each class has its own peaks.
        var other = values
        other[5] = 0.8
        #expect(
            try Self.find(decoding, [1, 2, 3, 6], other).map { [$0.row, $0.index] } == [
                [2, 0], [5, 0], [0, 1], [3, 0],
            ])
    }

    /// Clipped to the picture of 24 by 16, the two boxes overlap by half.
    @Test("with clipping, boxes are cut to the picture before their overlap is measured")
    func boxesAreCutBeforeTheySuppressEachOther() throws {
        var decoding = BoxDecoding()
        decoding.tensors = [HeadTensor("output", [.box, .scores])]
        (decoding.form, decoding.threshold, decoding.iou) = (.corners, 0.1, 0.45)
        let values: [Float] = [-100, 0, 8, 16, 0.9, 0, 0, 0, 16, 32, 0.8, 0]
        #expect(try Self.find(decoding, [1, 2, 6], values).count == 2)
        decoding.coding.clips = true
        let found = try Self.find(decoding, [1, 2, 6], values)
        #expect(found.map(\.box) == [Box(left: 0, top: 0, right: 8, bottom: 16)])
    }

    /// An engine may return another shape than it declared.
    @Test("an output of another shape than planned is refused with its name")
    func anotherShapeThanPlanned_isRefusedByName() throws {
        let decoder = try BoxDecoder(
            Self.head(), shapes: ["output": [[1, 6, 2, 3]]], width: 24, height: 16, classes: 2)
        for shape in [[1, 6, 2, 2], [1, 6], [0]] {
            let values = [Float](repeating: .nan, count: shape.reduce(1, *))
            let error = #expect(throws: ObservationError.self) {
                try OwnedTensors([("output", shape, values)]).withTensors { try decoder.detections(in: $0) }
            }
            #expect(error?.message == "output: expected the planned shape, found [\(shape)]")
        }
        #expect(throws: ObservationError.self) { try decoder.detections(in: [:]) }
    }

    @Test(
        "a keypoint order with unknown words, or without one x and one y, is refused",
        arguments: ["x", "x y x", "x y depth", "", "score", "y z", String(repeating: "x ", count: 20)])
    func anOrderOfAPointNeedsOneXAndOneY(_ words: String) { #expect(PointOrder(rawValue: words) == nil) }
}

/// Random heads and invalid numbers: every description is refused by name, or gives finite boxes.
@Suite struct HostileHeadTests {
    private static let hostile: [Float] = [
        .nan, .infinity, -.infinity, 1e30, -1e30, .greatestFiniteMagnitude, -0.0, .leastNonzeroMagnitude, 0, 1, -1,
    ]

    private static func value(_ random: inout SplitMix) -> Float {
        random.chance(25)
            ? hostile.randomElement(using: &random) ?? 0
            : random.chance(10)
                ? Float(bitPattern: UInt32.random(in: 0...UInt32.max, using: &random))
                : Float.random(in: -3...3, using: &random)
    }

    private static func find(_ decoder: BoxDecoder, _ tensors: OwnedTensors) throws -> [Detection] {
        try tensors.withTensors { try decoder.detections(in: $0) }
    }

    /// A head with random parts, for one map of 4 by 2 cells or its table.
    private static func head(_ random: inout SplitMix) -> BoxDecoding {
        var head = BoxDecoding()
        head.coding.kind = BoxCoding.Kind.allCases.randomElement(using: &random) ?? .boxes
        head.coding.centers = BoxCoding.CenterCurve.allCases.randomElement(using: &random) ?? .linear
        head.coding.sizes = BoxCoding.SizeCurve.allCases.randomElement(using: &random) ?? .linear
        (head.coding.inCells, head.coding.ofPicture) = (random.chance(50), random.chance(50))
        (head.coding.clips, head.multiLabel) = (random.chance(50), random.chance(50))
        if head.coding.kind == .distances { head.coding.bins = Int.random(in: 1...4, using: &random) }
        if random.chance(30) { head.coding.centerScale = value(&random) }
        if random.chance(30) { head.coding.largestExponent = value(&random) }
        head.form = head.forms.randomElement(using: &random) ?? .centers
        head.units = BoxUnits.allCases.randomElement(using: &random) ?? .pixels
        head.scores = ScoreForm.allCases.randomElement(using: &random) ?? .sigmoid
        head.background = BackgroundClass.allCases.randomElement(using: &random) ?? .none
        head.suppression = SuppressionScope.allCases.randomElement(using: &random) ?? .none
        head.weights =
            [.product, .root, ScoreWeights(objectness: 0.01, classes: 100)].randomElement(using: &random)
            ?? .product
        head.variances = (0..<4).map { _ in random.chance(70) ? 0.1 : value(&random) }
        (head.strides, head.anchors) = ([8], Int.random(in: 1...3, using: &random))
        head.offset = random.chance(70) ? 0.5 : value(&random)
        if random.chance(50) {
            head.extras = 4
            head.points = PriorPoints(scale: value(&random))
        }
        if random.chance(20) {
            let sides = (0..<head.anchors).map { _ in [value(&random), value(&random)] }
            head.priors = .grid([PriorBoxes.Level(stride: 8, boxes: sides, offset: value(&random))])
        }
        head.tensors = [
            HeadTensor(
                "output",
                [.box, .scores] + (random.chance(50) ? [.objectness] : []) + (head.extras > 0 ? [.extras] : []))
        ]
        return head
    }

    @Test("random heads and numbers give finite boxes or an error that names the tensor")
    func anyPartsWithAnyNumbers_endInFiniteBoxesOrARefusalByName() throws {
        let seed = SplitMix.seed(for: "anyPartsWithAnyNumbers")
        var random = SplitMix(seed: seed)
        var decoded = 0, refused = 0, invalid = 0
        for _ in 0..<4_000 {
            let head = Self.head(&random)
            let background = head.background == .none ? 0 : 1
            let values =
                4 * head.coding.bins + 2 + background + (head.tensors[0].parts.contains(.objectness) ? 1 : 0)
                + head.extras
            var shape = random.chance(50) ? [1, head.anchors * values, 2, 4] : [1, 8 * head.anchors, values]
            // A wrong count, or a size that overflows.
            if random.chance(20), let place = shape.indices.randomElement(using: &random) {
                shape[place] = [0, 1, shape[place] + 1, -1, .max, 1 << 40].randomElement(using: &random) ?? 0
            }
            do {
                let decoder = try BoxDecoder(head, shapes: ["output": [shape]], width: 32, height: 16, classes: 2)
                let isFinite = random.chance(80)
                let numbers = (0..<shape.reduce(1, *)).map { _ in
                    let value = Self.value(&random)
                    return value.isFinite || !isFinite ? value : 0.5
                }
                let found = try Self.find(decoder, OwnedTensors([("output", shape, numbers)]))
                decoded += 1
                #expect(found.count <= head.maxDetections)
                for one in found {
                    let box = [one.box.left, one.box.top, one.box.right, one.box.bottom]
                    #expect(box.allSatisfy { $0.isFinite } && (0...1).contains(one.confidence), "\(head)")
                    #expect((0..<2).contains(one.index) && one.extras.count == head.extras, "\(head)")
                }
            } catch ObservationError.unexpected(let role, let expected, let found) {
                refused += 1
                #expect(["output", "boxes", "tensors"].contains(role) && !expected.isEmpty, "\(found)")
            } catch ObservationError.notNumbers(let role) {
                invalid += 1
                #expect(["scores", "boxes"].contains(role))
            }
        }
        #expect(decoded > 1_000 && refused > 200 && invalid > 100, "\(decoded), \(refused), \(invalid)")
    }

    /// Ten million candidates: returns the requested number of detections, the best ones, although their scores were
    /// hidden among the others.
    @Test("the best three of ten million candidates are found, and decoding can be cancelled")
    func tenMillionCandidates_areBounded() throws {
        let rows = 2_000_000, classes = 5
        var head = BoxDecoding()
        (head.multiLabel, head.threshold, head.suppression, head.maxDetections) = (true, 0, .none, 3)
        head.tensors = [HeadTensor("output", [.box, .scores])]
        let decoder = try BoxDecoder(
            head, shapes: ["output": [[1, rows, 4 + classes]]], width: 32, height: 16, classes: classes)
        var values = [Float](repeating: 0.5, count: rows * (4 + classes))
        for (row, score) in [(7, Float(0.7)), (rows / 2, 0.9), (rows - 1, 0.8)] { values[row * 9 + 6] = score }
        let found = try Self.find(decoder, OwnedTensors([("output", [1, rows, 4 + classes], values)]))
        #expect(found.map(\.row) == [rows / 2, rows - 1, 7] && found.map(\.index) == [2, 2, 2])
        var asked = 0
        #expect(throws: ObservationError.cancelled) {
            try OwnedTensors([("output", [1, rows, 4 + classes], values)]).withTensors {
                try decoder.detections(in: $0) {
                    asked += 1
                    return asked > 3
                }
            }
        }
    }
}
