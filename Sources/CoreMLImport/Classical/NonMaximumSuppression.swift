/// The thresholds of a detector; nil uses the value of the file, or of its inputs.
package struct DetectorThresholds: Sendable {
    package var confidence: Double?
    package var iou: Double?

    package init(confidence: Double? = nil, iou: Double? = nil) {
        self.confidence = confidence
        self.iou = iou
    }
}

/// Keeps the best of overlapping boxes (NonMaximumSuppression.proto): the last step of a detector's pipeline.
struct NonMaximumSuppression: ClassicalModel {
    private let confidence: String, coordinates: String
    private let confidenceOutput: FeatureSpecification, coordinatesOutput: FeatureSpecification
    private let iouInput: String, thresholdInput: String
    private let iou: Double, threshold: Double
    /// The caller's thresholds, which override those of the file and of the inputs.
    private var chosen = DetectorThresholds()
    private let isPerClass: Bool
    /// The names of the classes; empty if the file has no names.
    let classes: [Category]
    /// The output with the scores of each class, and the output with the kept boxes.
    var outputs: (scores: String, boxes: String) { (confidenceOutput.name, coordinatesOutput.name) }

    /// The maximum number of boxes that reach the confidence threshold: the time grows with the square of it.
    private static let maximumBoxes = 30_000

    init(_ message: Message, _ description: InterfaceSpecification) throws(Problem) {
        isPerClass = try message.message(1)?.bool(1) ?? false
        classes = try ClassifierOutputs.labels(message)
        iou = try message.double(110)
        threshold = try message.double(111)
        try requireFinite([iou, threshold], "thresholds")
        confidence = try message.string(200)
        coordinates = try message.string(201)
        iouInput = try message.string(202)
        thresholdInput = try message.string(203)
        let inputs = description.inputs
        for (what, name) in [("confidence", confidence), ("coordinates", coordinates)]
        where !inputs.contains(where: { $0.name == name }) {
            throw Problem("its \(what) input \"\(name)\" is not an input of the model")
        }
        func output(_ name: String, _ what: String) throws(Problem) -> FeatureSpecification {
            guard let output = description.outputs.first(where: { $0.name == name }) else {
                throw Problem("its \(what) output \"\(name)\" is not an output of the model")
            }
            return output
        }
        confidenceOutput = try output(try message.string(210), "confidence")
        coordinatesOutput = try output(try message.string(211), "coordinates")
    }

    /// The inputs for the thresholds. Exported detectors declare them for the pipeline, but not for this model.
    var defaultedInputs: [String] { [iouInput, thresholdInput].filter { !$0.isEmpty } }

    /// A copy with the caller's thresholds.
    func choosing(_ thresholds: DetectorThresholds) -> NonMaximumSuppression {
        var result = self
        result.chosen = thresholds
        return result
    }

    /// The thresholds of the file, by the names of the inputs that override them.
    var defaults: [String: Double] {
        Dictionary([(iouInput, iou), (thresholdInput, threshold)].filter { !$0.0.isEmpty }) { first, _ in first }
    }

    func evaluate(_ table: FeatureTable) throws(EvaluationError) -> FeatureTable {
        let scores = try array(table, confidence), boxes = try array(table, coordinates)
        let count = boxes.values.count / 4
        guard boxes.values.count % 4 == 0, count == 0 ? scores.values.isEmpty : scores.values.count % count == 0 else {
            throw EvaluationError(
                "expected 4 coordinates and as many confidences for each box, found shapes \(boxes.shape) and \(scores.shape)",
                feature: coordinates)
        }
        let classes = count == 0 ? scores.shape.last ?? 1 : scores.values.count / count
        let minimum = chosen.confidence ?? number(table, thresholdInput) ?? threshold
        let maximum = chosen.iou ?? number(table, iouInput) ?? iou
        var candidates: [(box: Int, score: Double, label: Int)] = []
        for box in 0..<count {
            var best = 0
            for label in 0..<classes where scores.values[box * classes + label] > scores.values[box * classes + best] {
                best = label
            }
            let score = scores.values[box * classes + best]
            if score >= minimum { candidates.append((box, score, best)) }
        }
        guard candidates.count <= Self.maximumBoxes else {
            throw EvaluationError(
                "\(candidates.count) boxes reach the confidence threshold \(minimum): expected at most \(Self.maximumBoxes)",
                feature: confidence)
        }
        candidates.sort { ($1.score, $0.box) < ($0.score, $1.box) }
        var kept: [(box: Int, score: Double, label: Int)] = []
        for candidate in candidates {
            let overlaps = kept.contains { other in
                (!isPerClass || other.label == candidate.label)
                    && Self.overlap(boxes.values, other.box, candidate.box) > maximum
            }
            if !overlaps { kept.append(candidate) }
        }
        let rows = rows(kept.count)
        func gathered(_ values: [Double], _ width: Int) -> FeatureData {
            var result = kept.prefix(rows).flatMap { values[$0.box * width..<($0.box + 1) * width] }
            result += [Double](repeating: 0, count: rows * width - result.count)
            return .array(NumberArray(result, shape: [rows, width]))
        }
        return [
            confidenceOutput.name: gathered(scores.values, classes), coordinatesOutput.name: gathered(boxes.values, 4),
        ]
    }

    /// The number of rows of the outputs. If the description declares a number, the outputs are padded with zeros, or
    /// truncated.
    private func rows(_ kept: Int) -> Int {
        for output in [confidenceOutput, coordinatesOutput] {
            guard case .multiArray(let array) = output.type else { continue }
            switch array.flexibility {
            case .ranges(let ranges):
                guard let range = ranges.first else { continue }
                let upper = range.upper < 0 ? Int.max : range.upper
                return min(max(kept, min(range.lower, 1 << 20)), upper)
            case .shapes, .none:
                // A shape without two axes does not give the number of boxes.
                if array.shape.count == 2, let fixed = array.extents.first ?? nil, (1...1 << 20).contains(fixed) {
                    return fixed
                }
            }
        }
        return kept
    }

    private func array(_ table: FeatureTable, _ name: String) throws(EvaluationError) -> NumberArray {
        if case .array(let array)? = table[name] { return array }
        throw EvaluationError("expected an array, found \(table[name]?.kind ?? "nothing")", feature: name)
    }

    private func number(_ table: FeatureTable, _ name: String) -> Double? {
        switch table[name] {
        case .double(let value)?: value.isNaN ? nil : value
        case .int64(let value)?: Double(value)
        case .array(let array)?: array.values.count == 1 ? array.values[0] : nil
        default: nil
        }
    }

    /// The intersection over union of two boxes, each of center x, center y, width and height; 0 if the union is not
    /// positive. In doubles, as Core ML computes; files may have negative sides.
    private static func overlap(_ boxes: [Double], _ a: Int, _ b: Int) -> Double {
        func side(_ axis: Int) -> Double {
            let low = max(
                boxes[a * 4 + axis] - boxes[a * 4 + axis + 2] / 2, boxes[b * 4 + axis] - boxes[b * 4 + axis + 2] / 2)
            let high = min(
                boxes[a * 4 + axis] + boxes[a * 4 + axis + 2] / 2, boxes[b * 4 + axis] + boxes[b * 4 + axis + 2] / 2)
            return max(0, high - low)
        }
        let intersection = side(0) * side(1)
        let union = boxes[a * 4 + 2] * boxes[a * 4 + 3] + boxes[b * 4 + 2] * boxes[b * 4 + 3] - intersection
        return union > 0 ? intersection / union : 0
    }
}
