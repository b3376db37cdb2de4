internal import ImagePipeline
internal import Inference
internal import JSON
internal import WireFormats

/// Writes the outputs of a prediction as `model.json` describes them (docs/http-api.md, "Predict").
struct OutputWriter {
    let outputs: [FeatureDescription]
    /// The number of labels to write of each labelled output, best first; nil for all, in the labels' order.
    let top: Int?
    /// The minimum confidence of a label to write; nil for no minimum. Values that are not confidences, such as logits,
    /// are all written.
    let threshold: Float?
    let scoreWatch: ScoreWatch

    /// The prediction; the error if the best labels are requested of values with a NaN.
    func checked(_ prediction: Prediction) -> Result<Prediction, InferenceError> {
        guard top != nil || threshold != nil else { return .success(prediction) }
        for output in outputs where output.labels != nil {
            guard let value = prediction.featureValue(for: output.name), Self.hasNaN(value) else { continue }
            return .failure(.invalidOutput(name: output.name, reason: "a value is NaN"))
        }
        return .success(prediction)
    }

    private static func hasNaN(_ value: FeatureValue) -> Bool {
        switch value {
        case .dictionary(let entries): entries.contains(where: \.value.isNaN)
        case .sequence(let elements): elements.contains(where: hasNaN)
        default: false
        }
    }

    /// Writes an object with a member for each output.
    /// - Throws: `cancelled`, `outOfMemory`.
    func write(
        _ prediction: Prediction, to writer: inout JSONWriter, isCancelled: () -> Bool
    ) throws(ImageError) {
        var failure: ImageError?
        writer.object { writer in
            for output in outputs where failure == nil {
                writer.key(output.name)
                switch prediction.featureValue(for: output.name) {
                case .depth(let map)?:
                    do throws(ImageError) {
                        try DepthWriter.write(map, to: &writer, isCancelled: isCancelled)
                    } catch {
                        failure = error
                    }
                case let value?: write(value, of: output, to: &writer)
                case nil: writer.null()
                }
            }
        }
        if let failure { throw failure }
    }

    private func write(_ value: FeatureValue, of output: FeatureDescription, to writer: inout JSONWriter) {
        switch value {
        case .dictionary(let entries):
            if output.labels == nil || top == nil && threshold == nil {
                writeLabels(entries, isExact: output.elementType == .float64 || output.labels == nil, to: &writer)
            } else {
                writeBest(entries, to: &writer)
            }
        case .multiArray(let array) where output.kind == .string:
            writer.object { writer in
                writer.key("b64")
                array.bytes.withUnsafeBytes { writer.base64($0) }
            }
        case .multiArray(let array):
            array.bytes.withUnsafeBytes {
                NumberWriter(elementType: array.elementType).write(
                    $0, extents: Self.extents(of: array.shape, output), to: &writer)
            }
        case .strings(let array):
            var rest = array.elements[...]
            Self.nest(Self.extents(of: array.shape, output)[...], &rest, &writer)
        case .sequence(let elements):
            // A sequence of maps has one for each row; the map of a single row is written without an array. A sequence
            // of tensors has one for each target.
            if elements.count == 1, case .dictionary? = elements.first {
                return write(elements[0], of: output, to: &writer)
            }
            writer.array { writer in for element in elements { write(element, of: output, to: &writer) } }
        case .borrowedArray, .depth: writer.null()
        case .image(let image):
            writer.object { writer in
                writer.key("b64")
                image.withUnsafeBytes { writer.base64($0) }
            }
        case .int64(let number): writer.integer(number)
        case .double(let number): writer.number(number)
        case .string(let text): writer.string(text)
        }
    }

    /// The nesting of the numbers. If the model fixes the shape, leading axes of 1 are omitted, so that a single number
    /// has none; an output of open length keeps its nesting, however many rows an answer has.
    private static func extents(of shape: Shape, _ output: FeatureDescription) -> [Int] {
        if output.kind == .scalar, shape.elementCount == 1 { return [] }
        let extents = shape.dimensions
        return output.shape.isStatic ? Array(extents.drop { $0 == 1 }) : extents
    }

    /// Writes strings, nested as in `extents`.
    private static func nest(
        _ extents: ArraySlice<Int>, _ elements: inout ArraySlice<String>, _ writer: inout JSONWriter
    ) {
        guard let extent = extents.first else { return writer.string(elements.popFirst() ?? "") }
        writer.array { writer in for _ in 0..<extent { nest(extents.dropFirst(), &elements, &writer) } }
    }

    /// Writes `{"label": value}`. If several classes have one label, the later ones get their index as a suffix,
    /// because names of members are unique.
    private func writeLabels(_ entries: [LabeledValue], isExact: Bool, to writer: inout JSONWriter) {
        var seen: Set<String> = []
        writer.object { writer in
            for (index, entry) in entries.enumerated() {
                writer.key(seen.insert(entry.label).inserted ? entry.label : "\(entry.label) (\(index))")
                if isExact { writer.number(entry.value) } else { writer.number(Float(entry.value)) }
            }
        }
    }

    /// Writes `[{"index", "label", "value"}]`, the greatest value first; equal values in the order of their indices.
    private func writeBest(_ entries: [LabeledValue], to writer: inout JSONWriter) {
        let isFilter = threshold ?? 0 > 0 && scoreWatch.mayBeConfidences(entries.lazy.map(\.value))
        let minimum = isFilter ? threshold.map(Double.init) ?? -.infinity : -.infinity
        var best = entries.enumerated().filter { $0.element.value >= minimum }
        best.sort { ($1.element.value, $0.offset) < ($0.element.value, $1.offset) }
        writer.array { writer in
            for (index, entry) in best.prefix(top ?? .max) {
                writer.object { writer in
                    writer.member("index", index)
                    writer.member("label", entry.label)
                    writer.member("value", Float(entry.value))
                }
            }
        }
    }
}
