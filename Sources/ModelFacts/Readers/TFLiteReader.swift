package import FileFormats
internal import JSON

/// Reads the facts in a TensorFlow Lite file: the metadata (TFLITE_METADATA, metadata_schema.fbs), the label files in
/// the zip archive after the model, the last operator (schema.fbs), and the keys of Ultralytics' exporters.
package enum TFLiteReader {
    private static let largestLabels = 16 << 20

    package static func read(_ source: ByteSource, name: String) -> FactSheet {
        var sheet = FactSheet()
        var files: [String: [UInt8]] = [:]
        do throws(FormatError) {
            files = try archive(source)
        } catch {
            sheet.problems.append(FactProblem(source: name, reason: error.reason))
        }
        do throws(FormatError) {
            let model = try FlatBuffer(source, range: 0..<source.count, identifier: "TFL3")
            let root = try model.root()
            sheet.endings = try endings(root).map {
                OutputEnding(output: $0.0, fact: Fact($0.1, source: name, key: "the last operator"))
            }
            let inputs = try quantizations(root, 1), outputs = try quantizations(root, 2)
            sheet.inputQuantization = (inputs.count == 1 ? inputs[0] : nil).map {
                Fact($0, source: name, key: "the input's quantization")
            }
            sheet.outputQuantizations = outputs.map { quantization in
                quantization.map { Fact($0, source: name, key: "the output's quantization") }
            }
            if let range = try metadata(root) {
                let part = "TFLITE_METADATA of \(name)"
                do throws(FormatError) {
                    let buffer = try FlatBuffer(source, range: range, identifier: "M001")
                    let reading = MetadataReading(buffer: buffer, files: files, source: part)
                    try reading.fill(&sheet)
                } catch {
                    sheet.problems.append(FactProblem(source: part, reason: error.reason))
                }
            }
        } catch {
            sheet.problems.append(FactProblem(source: name, reason: error.reason))
        }
        // Ultralytics puts its YAML into the archive, under various names.
        for (file, text) in files.sorted(by: { $0.key < $1.key })
        where file == "metadata.yaml" || file.hasSuffix(".json") || file.hasSuffix("meta.txt") {
            if let tree = UltralyticsReader.literal(text) {
                sheet = .merged([sheet, UltralyticsReader.tree(tree, source: "\(file) of \(name)")])
            } else if file == "metadata.yaml", text.first != UInt8(ascii: "{") {
                sheet = .merged([sheet, UltralyticsReader.yaml(text, source: "\(file) of \(name)")])
            }
        }
        return sheet
    }

    private static func archive(_ source: ByteSource) throws(FormatError) -> [String: [UInt8]] {
        guard let zip = try ZipDirectory(source) else { return [:] }
        var files: [String: [UInt8]] = [:]
        var left = largestLabels
        for entry in zip.entries where !entry.name.hasSuffix("/") {
            let contents = try zip.contents(entry, source, maximum: left)
            left -= contents.count
            files[entry.name] = contents
        }
        return files
    }

    /// The range of the metadata's own buffer; nil without metadata.
    private static func metadata(_ root: FlatBuffer.Table) throws(FormatError) -> Range<Int>? {
        for entry in try root.tables(6) ?? [] where try entry.text(0) == "TFLITE_METADATA" {
            let index = Int(try entry.number(1, UInt32.self) ?? 0)
            guard let buffer = try root.element(4, index) else {
                throw FormatError("has its metadata in buffer \(index), which does not exist")
            }
            return try buffer.vector(0, elementBytes: 1)?.range
        }
        return nil
    }

    /// Scale and zero point of each input (field 1 of the graph) or output (field 2).
    private static func quantizations(
        _ root: FlatBuffer.Table, _ field: Int
    ) throws(FormatError) -> [TensorQuantization?] {
        guard let graph = try root.element(2, 0) else { return [] }
        var list: [TensorQuantization?] = []
        for index in (try graph.integers(field) ?? []).prefix(1_024) {
            list.append(try quantization(graph, tensor: index))
        }
        return list
    }

    private static func quantization(
        _ graph: FlatBuffer.Table, tensor index: Int
    ) throws(FormatError) -> TensorQuantization? {
        guard let tensor = try graph.element(0, index), let table = try tensor.table(4),
            let scales = try table.floats(2), scales.count == 1, scales[0].isFinite, scales[0] > 0
        else { return nil }
        // A 64-bit number; a zero point fits into 32 bits.
        let zero = try table.count(3) == 1 ? try table.numbers(3, Int64.self)?.first ?? 0 : 0
        guard abs(zero) <= 1 << 31 else { return nil }
        return TensorQuantization(scale: Double(scales[0]), zeroPoint: Int(zero))
    }

    /// BuiltinOperator of schema.fbs, by the names in ``GraphTrace``.
    private static let operators: [Int: String] = [
        0: "Add", 1: "AveragePool", 2: "Concat", 3: "Conv", 4: "Conv", 6: "DequantizeLinear", 9: "FullyConnected",
        14: "Sigmoid", 17: "MaxPool", 18: "Mul", 19: "Relu", 21: "Relu6", 22: "Reshape", 25: "Softmax", 34: "Pad",
        36: "Gather", 39: "Transpose", 40: "Mean", 41: "Sub", 42: "Div", 43: "Squeeze", 45: "StridedSlice", 47: "Exp",
        49: "Split", 50: "LogSoftmax", 53: "Cast", 54: "PRelu", 59: "Neg", 60: "PadV2", 65: "Slice",
        67: "ConvTranspose",
        69: "Tile", 70: "ExpandDims", 74: "ReduceSum", 82: "ReduceMax", 83: "Pack", 88: "Unpack", 98: "LeakyRelu",
        102: "SplitV", 106: "AddN", 114: "QuantizeLinear", 126: "BatchMatMul", 130: "BroadcastTo",
    ]
    /// The last operators of a file are enough to find the ending of an output.
    private static let maximumOperators = 512

    private static func endings(
        _ root: FlatBuffer.Table
    ) throws(FormatError) -> [(String, GraphEnding)] {
        guard let graph = try root.element(2, 0) else { return [] }
        var trace = GraphTrace()
        let count = try graph.count(3)
        for index in stride(from: count - 1, through: max(0, count - maximumOperators), by: -1) {
            guard let node = try graph.element(3, index),
                let code = try root.element(1, Int(try node.number(0, UInt32.self) ?? 0))
            else { continue }
            // Codes above 127 are in another field.
            let old = Int(try code.number(0, Int8.self) ?? 0)
            let kind = max(old, Int(try code.number(3, Int32.self) ?? 0))
            let maker = GraphTrace.Node(
                operation: operators[kind] ?? "operator \(kind)",
                inputs: (try node.integers(1) ?? []).prefix(64).map { "\($0)" })
            for output in (try node.integers(2) ?? []).prefix(64) { trace.makers["\(output)"] = maker }
        }
        // Without its first operators it is only a part of a graph.
        trace.isOpen = count > maximumOperators
        var endings: [(String, GraphEnding)] = []
        for output in (try graph.integers(2) ?? []).prefix(16) {
            guard let tensor = try graph.element(0, output) else { continue }
            let name = try tensor.text(3) ?? ""
            if let ending = trace.ending(of: "\(output)") { endings.append((name, ending)) }
        }
        return endings
    }
}

/// The metadata's tables.
private struct MetadataReading {
    let buffer: FlatBuffer
    let files: [String: [UInt8]]
    let source: String

    init(buffer: FlatBuffer, files: [String: [UInt8]], source: String) {
        self.buffer = buffer
        self.files = files
        self.source = source
    }

    private func fact<Value>(_ value: Value, _ key: String) -> Fact<Value> { Fact(value, source: source, key: key) }

    func fill(_ sheet: inout FactSheet) throws(FormatError) {
        let root = try buffer.root()
        func text(_ field: Int, _ key: String) throws(FormatError) -> Fact<String>? {
            try root.text(field).flatMap { $0.isEmpty ? nil : fact($0, key) }
        }
        sheet.name = try text(0, "name")
        sheet.details = try text(1, "description")
        sheet.version = try text(2, "version")
        sheet.author = try text(4, "author")
        sheet.license = try text(5, "license")
        guard let graph = try root.element(3, 0) else { return }
        let inputs = try graph.tables(2) ?? []
        if inputs.count == 1 { try input(inputs[0], &sheet) }
        let outputs = try graph.tables(3) ?? []
        for (index, output) in outputs.enumerated() {
            sheet.outputs.append(try self.output(output, "output_tensor_metadata[\(index)]", &sheet))
        }
        if outputs.count == 1, let labels = sheet.outputs[0].axisLabels {
            sheet.labels = fact(labels, "\"\(sheet.outputs[0].file)\" of output \"\(sheet.outputs[0].name)\"")
        }
    }

    private func input(_ table: FlatBuffer.Table, _ sheet: inout FactSheet) throws(FormatError) {
        guard let content = try table.table(3), try content.number(0, UInt8.self) == 2 else { return }
        if let image = try content.table(1) {
            switch try image.number(0, Int8.self) ?? 0 {
            case 1: sheet.order = fact(.rgb, "color_space")
            case 2: sheet.order = fact(.gray, "color_space")
            default: break
            }
        }
        for unit in try table.tables(4, maximum: 64) ?? [] {
            let kind = try unit.number(0, UInt8.self) ?? 0
            guard kind == 1, let options = try unit.table(1) else { continue }
            let mean = (try options.floats(0) ?? []).map(Double.init)
            let std = (try options.floats(1) ?? []).map(Double.init)
            guard [1, 3].contains(mean.count), [1, 3].contains(std.count), (mean + std).allSatisfy(\.isFinite),
                std.allSatisfy({ $0 > 0 })
            else {
                throw FormatError(
                    "has NormalizationOptions of mean \(mean) and std \(std): expected 1 or 3 numbers each, std greater than 0"
                )
            }
            var form = PictureNormalization()
            form.rescale = 1
            form.mean = mean
            form.std = std
            sheet.normalization = Fact(
                form, source: source, key: "NormalizationOptions",
                parts: [
                    .scale: "NormalizationOptions, for levels from 0 to 255",
                    .mean: "NormalizationOptions.mean", .std: "NormalizationOptions.std",
                ])
        }
        // The metadata does not describe the framing; its own reader, the Task Library, stretches the picture to the
        // input's size with two taps along each axis. The model was not necessarily trained like that, and pictures are
        // many times the input's size, so the filter is Ocelli's default, which averages. Other programs write such
        // metadata too: any value of theirs takes precedence.
        sheet.framing = Fact(
            PictureFraming(.stretch), source: source, key: "the Task Library's convention", basis: .convention)
        sheet.filter = Fact(.bilinear, source: source, key: "Ocelli's own default", basis: .convention)
    }

    private func output(
        _ table: FlatBuffer.Table, _ path: String, _ sheet: inout FactSheet
    ) throws(FormatError) -> OutputFacts {
        var output = OutputFacts()
        output.name = try table.text(0) ?? ""
        if let content = try table.table(3) {
            let kind = Int(try content.number(0, UInt8.self) ?? 0)
            let names = ["", "feature", "image", "bounding box", "audio"]
            output.content = names.indices.contains(kind) ? names[kind] : ""
        }
        for unit in try table.tables(4, maximum: 64) ?? [] {
            switch try unit.number(0, UInt8.self) ?? 0 {
            case 2:
                sheet.unsupported.append(
                    fact("score calibration, which changes the scores, is not supported", "\(path).process_units"))
            case 3:
                if let options = try unit.table(1), let threshold = try options.float(0),
                    threshold.isFinite
                {
                    sheet.confidence = fact(Double(threshold), "ScoreThresholdingOptions")
                }
            default: break
            }
        }
        // Translations of the labels have a locale: the file without one comes first.
        var candidates: [(name: String, kind: Int8, isTranslation: Bool)] = []
        for file in try table.tables(6, maximum: 256) ?? [] {
            let kind = try file.number(2, Int8.self) ?? 0
            guard kind == 2 || kind == 3, let name = try file.text(0) else {
                if kind == 4 {
                    sheet.unsupported.append(
                        fact(
                            "score calibration, which changes the scores, is not supported", "\(path).associated_files")
                    )
                }
                continue
            }
            candidates.append((name, kind, try file.text(3).map { !$0.isEmpty } ?? false))
        }
        let ordered = candidates.filter { !$0.isTranslation } + candidates.filter(\.isTranslation)
        for (name, kind, _) in ordered where kind == 2 ? output.axisLabels == nil : output.valueLabels == nil {
            guard let text = files[name] else {
                sheet.problems.append(
                    FactProblem(
                        source: source, reason: "names \"\(name)\", which is not in the zip archive at the file's end"))
                continue
            }
            // Older versions of Ultralytics store their own metadata as labels.
            if UltralyticsReader.literal(text) != nil { continue }
            do throws(FormatError) {
                let labels = try LabelFile.read(text, name: name)
                output.file = name
                if kind == 2 { output.axisLabels = labels } else { output.valueLabels = labels }
            } catch {
                sheet.problems.append(FactProblem(source: "\(name) of \(source)", reason: error.reason))
            }
        }
        return output
    }
}
