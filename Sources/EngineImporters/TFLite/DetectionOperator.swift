internal import EngineAPI
internal import FileFormats
package import Observations

/// TFLite_Detection_PostProcess, the custom operator at the end of TensorFlow Lite's detectors: its description in a
/// file, and the file without it. OpenVINO has no translator for it.
///
/// Source: TensorFlow Lite's schema.fbs (field numbers), and the operator's documented options.
package struct DetectionOperator {
    static let name = "TFLite_Detection_PostProcess"

    /// The four outputs: boxes, classes, scores, count.
    let outputs: [TensorPort]
    /// The names of its two inputs, which are outputs of the file without it: box offsets and scores.
    let inputs: [String]
    /// The quantization of each input; nil for one that is not quantized.
    let quantization: [Quantization?]
    /// The decoding that the operator performs.
    package let decoding: BoxDecoding
    /// The number of output rows for each box that is kept: one for each of its classes, the most likely first. The
    /// count output counts boxes.
    package let rowsOfBox: Int
    /// The numbers of rows and columns of the scores.
    package let boxes: Int, columns: Int
    /// The file without the operator.
    package let file: [UInt8]

    /// `(value - zero) * scale`
    struct Quantization {
        let scale: Double, zero: Double

        func callAsFunction(_ value: Double) -> Float { Float((value - zero) * scale) }
    }

    /// The reason a file that contains the operator in an unsupported form cannot be split.
    package struct Unreadable: Error {
        package let reason: String
    }

    /// Nil if the file does not contain the operator.
    package init?(_ bytes: [UInt8]) throws(Unreadable) {
        guard let model = try? FlatBuffer(ByteSource(bytes), identifier: "TFL3").root(),
            let codes = try? model.tables(1), let graphs = try? model.tables(2),
            let code = codes.firstIndex(where: { (try? $0.text(1)) == Self.name })
        else { return nil }
        guard graphs.count == 1, let graph = graphs.first else {
            throw Unreadable(reason: "expected one subgraph with \(Self.name), found \(graphs.count)")
        }
        let operators = try Self.known(try? graph.tables(3, maximum: Self.maximumTables), "list of operators")
        guard let place = operators.firstIndex(where: { (try? $0.number(0, UInt32.self)) ?? 0 == UInt32(code) }) else {
            return nil
        }
        let node = operators[place]
        let taken = try Self.known(try? node.integers(1), "inputs")
        let given = try Self.known(try? node.integers(2), "outputs")
        let tensors = try Self.known(try? graph.tables(0, maximum: Self.maximumTables), "tensors")
        guard taken.count == 3, given.count == 4, (taken + given).allSatisfy({ tensors.indices.contains($0) }) else {
            throw Unreadable(
                reason: "expected \(Self.name) with 3 inputs and 4 outputs, found \(taken.count) and \(given.count)")
        }
        let options = Options(
            numbers: try Self.known((try? node.bytes(5)).flatMap { FlexBuffer($0) }, "options").numbers)
        let shape = Self.shape(of: tensors[taken[0]]), scores = Self.shape(of: tensors[taken[1]])
        guard shape.count == 3, shape[0] == 1, shape[2] == 4, scores.count == 3, scores[0] == 1, scores[1] == shape[1],
            shape[1] > 0, scores[2] > 0, shape[1] <= 1 << 20, scores[2] <= 1 << 16
        else {
            throw Unreadable(
                reason:
                    "\(Self.name) takes boxes of \(shape) and scores of \(scores): expected [1, n, 4] and [1, n, classes]"
            )
        }
        boxes = shape[1]
        columns = scores[2]
        let known = try options.decoding(columns: columns)
        let anchors = try Self.known(Self.values(of: tensors[taken[2]], model), "anchors")
        guard anchors.count == boxes * 4 else {
            throw Unreadable(reason: "\(Self.name) has \(anchors.count / 4) anchors for \(boxes) boxes")
        }
        // Converts the anchors to center y, center x, height, width.
        var priors: [Float] = []
        for first in stride(from: 0, to: anchors.count, by: 4) {
            priors += [anchors[first + 1], anchors[first], anchors[first + 3], anchors[first + 2]]
        }
        var decoding = known.decoding
        decoding.priors = .given(priors)
        (self.decoding, rowsOfBox) = (decoding, known.rowsOfBox)
        inputs = taken[..<2].map { (try? tensors[$0].text(3)) ?? "" }
        quantization = taken[..<2].map { Self.quantization(of: tensors[$0]) }
        let maximum = decoding.maxDetections * rowsOfBox
        let shapes: [Shape] = [[1, maximum, 4], [1, maximum], [1, maximum], [1]]
        outputs = zip(given, shapes).map {
            TensorPort(name: (try? tensors[$0].text(3)) ?? "", elementType: .float32, shape: $1)
        }
        file = try Self.cut(
            bytes, model: model, graph: graph, nodes: operators, operator: place, taken: taken, given: given)
    }

    private static func known<T>(_ value: T?, _ what: String) throws(Unreadable) -> T {
        guard let value else { throw Unreadable(reason: "the operator \(name) has no readable \(what)") }
        return value
    }

    /// The operator's options, which are numbers by name.
    private struct Options {
        let numbers: [String: Double]

        func number(_ name: String, _ fallback: Double? = nil) throws(Unreadable) -> Double {
            let value = try DetectionOperator.known(numbers[name] ?? fallback, "option \"\(name)\"")
            guard value.isFinite else { throw Unreadable(reason: "the operator's option \"\(name)\" is \(value)") }
            return value
        }

        /// The decoding of boxes, without the anchors, and the maximum number of classes for each box.
        /// - Parameter columns: the number of columns of the scores.
        func decoding(columns: Int) throws(Unreadable) -> (decoding: BoxDecoding, rowsOfBox: Int) {
            let classes = try number("num_classes", Double(columns))
            guard classes == Double(columns) || classes == Double(columns - 1), classes >= 1 else {
                throw Unreadable(
                    reason: "\(DetectionOperator.name) has \(classes) classes, its scores \(columns) columns")
            }
            var decoding = BoxDecoding(layout: .ssd)
            decoding.form = .centersYX
            decoding.scores = .probabilities
            decoding.background = classes == Double(columns) ? .none : .first
            decoding.threshold = Float(min(max(try number("nms_score_threshold"), 0), 1))
            decoding.iou = Float(min(max(try number("nms_iou_threshold"), 0), 1))
            decoding.maxDetections = Int(min(max(try number("max_detections"), 1), 10_000))
            // By default all classes suppress each other, and a box has a single class.
            let perClass = try number("use_regular_nms", 0) != 0
            decoding.suppression = perClass ? .perClass : .all
            decoding.multiLabel = perClass
            if perClass {
                decoding.maxDetectionsOfClass = Int(min(max(try number("detections_per_class", 100), 1), 10_000))
            }
            let rowsOfBox = Int(min(max(try number("max_classes_per_detection", 1), 1), 10_000))
            guard decoding.maxDetections * rowsOfBox <= 100_000 else {
                throw Unreadable(
                    reason:
                        "\(DetectionOperator.name) gives \(decoding.maxDetections) boxes with \(rowsOfBox) classes: at most 100000 rows"
                )
            }
            decoding.variances = []
            for name in ["x_scale", "y_scale", "w_scale", "h_scale"] {
                let scale = try number(name)
                guard scale != 0 else { throw Unreadable(reason: "the operator's option \"\(name)\" is 0") }
                decoding.variances.append(Float(1 / scale))
            }
            return (decoding, rowsOfBox)
        }
    }

    /// The operator's four outputs: boxes, classes, scores and count.
    ///
    /// By default a box that is kept has a row for each of its best classes, even below the threshold; unused rows are
    /// 0.
    /// - Parameter scores: `boxes` rows of `columns` values.
    func tables(of found: [Detection], scores: UnsafeBufferPointer<Float>) -> [[Float]] {
        let each = decoding.suppression == .all ? rowsOfBox : 1
        let background = decoding.background == .first ? 1 : 0
        let rows = decoding.maxDetections * rowsOfBox
        let kept = found.prefix(decoding.maxDetections)
        var boxes = [Float](repeating: 0, count: rows * 4)
        var classes = [Float](repeating: 0, count: rows), confidences = classes
        for (index, one) in kept.enumerated() {
            var best = [(index: one.index, score: one.confidence)]
            let start = one.row * columns + background, end = (one.row + 1) * columns
            if each > 1, start >= 0, start < end, end <= scores.count {
                best = scores[start..<end].enumerated().map { ($0, $1) }
                    .sorted { $0.score == $1.score ? $0.index < $1.index : $0.score > $1.score }
            }
            for (place, entry) in best.prefix(each).enumerated() {
                let row = index * each + place
                boxes.replaceSubrange(
                    row * 4..<row * 4 + 4, with: [one.box.top, one.box.left, one.box.bottom, one.box.right])
                classes[row] = Float(entry.index)
                confidences[row] = entry.score
            }
        }
        return [boxes, classes, confidences, [Float(kept.count)]]
    }

    /// The maximum number of tables, far more than models have.
    private static let maximumTables = 100_000

    private static func shape(of tensor: FlatBuffer.Table) -> [Int] { (try? tensor.integers(0)) ?? [] }

    /// The scale and zero point of a quantized tensor; nil for other tensors.
    static func quantization(of tensor: FlatBuffer.Table) -> Quantization? {
        guard [3, 9].contains((try? tensor.number(1, Int8.self)) ?? 0), let quantization = try? tensor.table(4),
            let bits = (try? quantization.numbers(2, UInt32.self))?.first
        else { return nil }
        let scale = Double(Float(bitPattern: bits))
        let zero = Double((try? quantization.numbers(3, Int64.self))?.first ?? 0)
        return scale.isFinite ? Quantization(scale: scale, zero: zero) : nil
    }

    /// The values of a constant tensor of 32-bit floats or quantized bytes.
    private static func values(of tensor: FlatBuffer.Table, _ model: FlatBuffer.Table) -> [Float]? {
        guard let index = try? tensor.number(2, UInt32.self),
            let data = try? model.element(4, Int(index), maximum: maximumTables)?.bytes(0)
        else { return nil }
        let quantization = quantization(of: tensor)
        switch (try? tensor.number(1, Int8.self)) ?? 0 {
        case 0:
            return data.withUnsafeBytes { raw in
                (0..<raw.count / 4).map { raw.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self) }
            }
        case 3: return data.map { quantization?(Double($0)) ?? Float($0) }
        case 9:
            return data.map { byte in
                let value = Double(Int8(bitPattern: byte))
                return quantization?(value) ?? Float(value)
            }
        default: return nil
        }
    }

    /// The file with the operator's inputs instead of its outputs. Only offsets are moved, because the vectors become
    /// shorter.
    private static func cut(
        _ bytes: [UInt8], model: FlatBuffer.Table, graph: FlatBuffer.Table, nodes: [FlatBuffer.Table],
        operator place: Int, taken: [Int], given: [Int]
    ) throws(Unreadable) -> [UInt8] {
        var file = bytes
        func write(_ value: UInt32, at place: Int) {
            for index in 0..<4 { file[place + index] = UInt8(truncatingIfNeeded: value >> (8 * UInt32(index))) }
        }
        guard let outputs = try? graph.vector(2, elementBytes: 4),
            let operators = try? graph.vector(3, elementBytes: 4),
            let old = try? graph.integers(2)
        else { throw Unreadable(reason: "the file has no outputs that can be read") }
        let new = old.filter { !given.contains($0) } + taken[..<2]
        guard new.count <= outputs.count else {
            throw Unreadable(reason: "expected \(name)'s four outputs among the file's, found \(old.count) outputs")
        }
        for (index, tensor) in new.enumerated() {
            write(UInt32(truncatingIfNeeded: tensor), at: outputs.start + 4 * index)
        }
        write(UInt32(new.count), at: outputs.start - 4)
        // Offsets are relative to their own position: those after the operator move by one entry.
        for index in place + 1..<max(place + 1, operators.count) {
            let offset = UInt32(truncatingIfNeeded: nodes[index].place - (operators.start + 4 * index))
            write(offset &+ 4, at: operators.start + 4 * (index - 1))
        }
        write(UInt32(operators.count - 1), at: operators.start - 4)
        // Removed, because signatures name outputs that no longer exist.
        if let signatures = try? model.vector(7, elementBytes: 4) { write(0, at: signatures.start - 4) }
        return file
    }
}
