internal import Inference
internal import JSON
internal import ModelFacts
internal import SystemSupport

/// Writes the layers of a first model.json.
struct LayerDraft {
    let facts: BundleDerivation
    /// The file of labels of the bundle, existing or to be written.
    let labelFile: String?

    /// A key, its value as JSON text, and the source of the value.
    private struct Member {
        let key: String
        let value: String
        var comment: String?
    }

    private func line(_ name: String) -> ModelProvenance.Line? { facts.provenance.lines.first { $0.name == name } }

    /// True if a value has another source than the model file's tensors and a file of labels; then each line names its
    /// source. Otherwise the draft is JSON without comments, which other readers accept too.
    private var namesSources: Bool {
        let file = FilePath.name(of: facts.file) ?? ""
        // A value that was found by running the model has a comment as well.
        return facts.provenance.lines.contains {
            $0.source != file && $0.source != facts.labelFile || $0.name == "activation" && facts.wasRun
        }
    }

    private func comment(_ line: ModelProvenance.Line) -> String? { comment([line]) }

    /// The comment for a value in several parts: each key once.
    private func comment(_ lines: [ModelProvenance.Line]) -> String? {
        guard namesSources, let first = lines.first else { return nil }
        var keys: [String] = []
        for line in lines where !keys.contains(line.key) { keys.append(line.key) }
        return "from \(first.source): \(keys.joined(separator: ", "))"
    }

    /// The key with its value and source, if a source has it.
    private func known(_ name: String, as key: String? = nil) -> Member? {
        line(name).map { Member(key: key ?? name, value: $0.value, comment: comment($0)) }
    }

    /// The JSON text of an object.
    /// - Parameter remark: a comment for a value that needs no member.
    private static func object(_ members: [Member], remark: String? = nil) -> String {
        var lines = members.enumerated().map { index, member in
            "      \"\(member.key)\": \(member.value)\(index < members.count - 1 ? "," : "")"
                + (member.comment.map { "  // \($0.filter { !$0.isNewline })" } ?? "")
        }
        if let remark { lines.append("      // \(remark.filter { !$0.isNewline })") }
        return "    {\n" + lines.joined(separator: "\n") + "\n    }"
    }

    /// Adds the open decisions to a layer, and to the list of all.
    private static func finish(
        _ members: [Member], _ path: String, _ open: [String], _ notes: inout [String], remark: String? = nil
    ) -> String {
        notes += open.map { "\(path).\($0)" }
        let mark = open.isEmpty ? [] : [Member(key: "$decide", value: JSONText.quoted(open.joined(separator: "; ")))]
        return object(members + mark, remark: remark)
    }

    /// The picture format of a shape; nil if it is not a picture. A picture has one or three channels on its first or
    /// last axis, and two larger axes.
    private static func picture(_ shape: Shape) -> (height: Int, width: Int, channels: Int, isNCHW: Bool)? {
        var extents = shape.dimensions
        if extents.count == 4, extents[0] == 1 || extents[0] == Shape.dynamic { extents.removeFirst() }
        guard extents.count == 3 else { return nil }
        func isSide(_ extent: Int) -> Bool { extent > 3 || extent == Shape.dynamic }
        if [1, 3].contains(extents[2]), isSide(extents[0]), isSide(extents[1]) {
            return (extents[0], extents[1], extents[2], false)
        }
        if [1, 3].contains(extents[0]), isSide(extents[1]), isSide(extents[2]) {
            return (extents[1], extents[2], extents[0], true)
        }
        return nil
    }

    /// True if the model makes a picture from a picture, and the file leaves both sizes open: style transfer,
    /// super-resolution, denoising.
    private var drawsAnySize: Bool {
        let ports = [facts.outline.inputs, facts.outline.outputs].map { $0.count == 1 ? $0.first : nil }
        return ports.allSatisfy { port in
            port.flatMap { Self.picture($0.shape) }.map { $0.height < 0 && $0.width < 0 } ?? false
        }
    }

    /// False for models of tables and texts: their classes are in an output.
    private var takesPictures: Bool {
        line("layout") != nil || facts.outline.inputs.contains { Self.picture($0.shape) != nil }
    }

    /// The shape of an array: the batch axis may stay open, every other axis needs an extent; a single number has one
    /// axis.
    private static func arrayShape(_ shape: Shape, _ open: inout [String]) -> [Int] {
        guard !shape.dimensions.isEmpty else { return [1] }
        return shape.dimensions.enumerated().map { axis, extent in
            guard extent == Shape.dynamic, axis > 0 else { return extent }
            open.append("shape[\(axis)]: the file leaves this extent open")
            return 1
        }
    }

    // MARK: Inputs

    func input(_ port: TensorPort, _ index: Int, _ notes: inout [String]) -> String {
        let path = "inputs[\(index)]"
        var members = [Member(key: "name", value: JSONText.quoted(port.name.isEmpty ? "input_\(index)" : port.name))]
        var open: [String] = []
        let dtype = Member(key: "dtype", value: JSONText.quoted(port.elementType.rawValue))
        let isDerived = index == 0 && line("layout") != nil
        guard let picture = Self.picture(port.shape) ?? (isDerived ? (-1, -1, 3, true) : nil) else {
            members += [Member(key: "type", value: "\"array\""), dtype]
            members.append(Member(key: "shape", value: DraftText.list(Self.arrayShape(port.shape, &open))))
            return Self.finish(members, path, open, &notes)
        }
        members += [Member(key: "type", value: "\"image\""), dtype]
        if let shape = known("shape"), !facts.provenance.undecided.contains("shape") {
            members.append(shape)
        } else if drawsAnySize {
            members.append(Member(key: "shape", value: DraftText.list([-1, -1, picture.channels])))
            members.append(Member(key: "open_size", value: "{ \"minimum\": 1, \"maximum\": 1024, \"multiple\": 1 }"))
            open.append("open_size: the sides that the network can take, and the number that they must be multiples of")
        } else {
            let height = picture.height > 0 ? picture.height : 224, width = picture.width > 0 ? picture.width : 224
            if picture.height < 0 || picture.width < 0 { open.append("the size: the file leaves it open") }
            members.append(Member(key: "shape", value: DraftText.list([height, width, picture.channels])))
        }
        if let format = known("format") {
            members.append(format)
        } else {
            members.append(Member(key: "format", value: picture.channels == 1 ? "\"GRAY\"" : "\"RGB\""))
            if picture.channels == 3 { open.append("format: RGB or BGR, as the model was trained") }
        }
        if let layout = known("layout") {
            members.append(layout)
        } else if picture.isNCHW {
            members.append(Member(key: "layout", value: "\"NCHW\""))
        }
        normalization(port, &members, &open)
        if let mode = known("crop_and_scale") {
            members.append(mode)
            for key in [
                "resize_shorter_side", "resize_exactly", "resize_contain", "resize_cover", "resize", "fit_alignment",
                "centering", "fill_color",
            ] {
                if let member = known(key) { members.append(member) }
            }
        } else {
            members.append(Member(key: "crop_and_scale", value: drawsAnySize ? "\"fit\"" : "\"center\""))
            if !drawsAnySize {
                open.append("crop_and_scale: center, fit or fill, as the pictures were prepared for training")
            }
        }
        if let resampler = known("resampler") { members.append(resampler) }
        for (key, sentence) in zip(facts.provenance.undecidedKeys, facts.provenance.missing) {
            if key == "unsupported" { open.append(sentence) }
            if key == "pictures" { open.append("format, normalize, crop_and_scale: \(sentence)") }
        }
        return Self.finish(members, path, open, &notes)
    }

    /// A list of numbers for red, green and blue as an object that names them; other values unchanged.
    private static func byColor(_ value: String) -> String {
        let numbers = value.split { "[], ".contains($0) }
        guard value.hasPrefix("["), numbers.count == 3 else { return value }
        return "{ \"r\": \(numbers[0]), \"g\": \(numbers[1]), \"b\": \(numbers[2]) }"
    }

    private func normalization(_ port: TensorPort, _ members: inout [Member], _ open: inout [String]) {
        let parts = ["scale", "offset", "mean", "std", "divide_by_std_twice"].compactMap { key in
            line("normalize.\(key)").map { (key, $0) }
        }
        if parts.contains(where: { $0.0 == "mean" }) {
            let isBGR = line("format")?.value == "\"BGR\""
            let body = parts.map { "\"\($0.0)\": \(isBGR ? Self.byColor($0.1.value) : $0.1.value)" }.joined(
                separator: ", ")
            members.append(Member(key: "normalize", value: "{ \(body) }", comment: comment(parts.map(\.1))))
        } else if port.elementType.isFloatingPoint {
            members.append(Member(key: "normalize", value: "{ \"standard\": \"[0,1]\" }"))
            open.append(
                "normalize: [0,1], [-1,1], scale and bias, mean and std, or none for pixels from 0 to 255, as the model was trained"
            )
        }
        if let scale = line("quantize.scale"), let bias = line("quantize.bias") {
            members.append(
                Member(
                    key: "quantize", value: "{ \"scale\": \(scale.value), \"bias\": \(bias.value) }",
                    comment: comment(scale)))
        } else if port.elementType == .int8, let quantization = facts.inputQuantization {
            integers(quantization, &members, &open)
        } else if port.elementType == .int8 {
            members.append(Member(key: "quantize", value: "{ \"scale\": 1, \"bias\": -128 }"))
            open.append("quantize: the scale and zero point of the model's input")
        }
    }

    /// Adds the facts of the file about an input of 8-bit integers: the numbers that they represent, but not how these
    /// are computed from pixels.
    private func integers(_ fact: Fact<TensorQuantization>, _ members: inout [Member], _ open: inout [String]) {
        let (scale, zero) = (fact.value.scale, Double(fact.value.zeroPoint))
        let minimum = (-128 - zero) * scale, greatest = (127 - zero) * scale
        // The usual form whose range is that of the tensor.
        let usual = [("[0,1]", 0.0, 1.0), ("[-1,1]", -1, 1)].first {
            abs($0.1 - minimum) < 3 * scale && abs($0.2 - greatest) < 3 * scale
        }
        if let usual {
            members.append(Member(key: "normalize", value: "{ \"standard\": \"\(usual.0)\" }"))
        } else {
            members.append(Member(key: "normalize", value: "{ \"scale\": 1, \"bias\": 0 }"))
        }
        func rounded(_ value: Double) -> String { "\((value * 1_000).rounded() / 1_000)" }
        open.append(
            "normalize: as the model was trained; the input's integers stand for \(rounded(minimum)) to \(rounded(greatest))"
        )
        members.append(
            Member(
                key: "quantize", value: "{ \"scale\": \(1 / scale), \"bias\": \(zero * scale) }",
                comment: "from \(fact.source): \(fact.key)"))
    }

    // MARK: Outputs

    /// The entry for outputs that are boxes, with masks and points.
    func observation(_ name: String, _ notes: inout [String]) -> String {
        let prefix = "outputs.", count = facts.labels?.count ?? 0
        let members = facts.provenance.lines.compactMap { line -> Member? in
            guard line.name.hasPrefix(prefix) else { return nil }
            let key = String(line.name.dropFirst(prefix.count))
            guard key == "labels" else { return Member(key: key, value: line.value, comment: comment(line)) }
            return labelFile.map {
                Member(
                    key: key, value: JSONText.quoted($0),
                    comment: comment(line).map { "\(count == 1 ? "1 name" : "\(count) names"), \($0)" })
            }
        }
        var open = zip(facts.provenance.undecidedKeys, facts.provenance.missing).filter { $0.0 == "outputs" }.map(\.1)
        if !open.isEmpty, count == 0, [.detect, .segment].contains(facts.observedTask) {
            open.append("labels: the name of a file with the classes' names; without it, answers have their numbers")
        }
        return Self.finish(
            [Member(key: "name", value: JSONText.quoted(name))] + members, "outputs[0]", open, &notes)
    }

    // Long: a member of the draft for each fact, in the order of the document.
    func output(_ port: TensorPort, _ index: Int, _ notes: inout [String]) -> String {
        let path = "outputs[\(index)]"
        var open: [String] = []
        let name = Member(key: "name", value: JSONText.quoted(port.name.isEmpty ? "output_\(index)" : port.name))
        let dtype = Member(key: "dtype", value: JSONText.quoted(port.elementType.rawValue))
        if drawsAnySize, let picture = Self.picture(port.shape) {
            var members = [
                name, Member(key: "type", value: "\"image\""), dtype,
                Member(key: "shape", value: DraftText.list([-1, -1, picture.channels])),
                Member(key: "format", value: picture.channels == 1 ? "\"GRAY\"" : "\"RGB\""),
            ]
            if picture.isNCHW { members.append(Member(key: "layout", value: "\"NCHW\"")) }
            if port.elementType.isFloatingPoint {
                members.append(Member(key: "denormalize", value: "{ \"standard\": \"[0,1]\" }"))
                open.append("denormalize: the range of its values, [0,1], [-1,1], or \"scale\" and \"bias\"")
            }
            return Self.finish(members, path, open, &notes)
        }
        var members = [
            name, Member(key: "type", value: "\"array\""), dtype,
            Member(key: "shape", value: DraftText.list(Self.arrayShape(port.shape, &open))),
        ]
        if index == 0 {
            for (key, sentence) in zip(facts.provenance.undecidedKeys, facts.provenance.missing) where key == "outputs"
            {
                open.append(sentence)
            }
        }
        // Next to the output with the labels, the other outputs are numbers.
        if facts.labelledOutput.map({ $0 != index }) ?? false { return Self.finish(members, path, open, &notes) }
        if let picture = Self.picture(port.shape) {
            let layout = picture.isNCHW ? "layout \"NCHW\", " : ""
            open.append(
                "type: image, with shape [height, width, channels], format, \(layout)denormalize, if this is a picture")
        }
        let extents = port.shape.dimensions.filter { $0 != 1 && $0 != Shape.dynamic }
        guard extents.count == 1, let classes = extents.first else { return Self.finish(members, path, open, &notes) }
        let isLabelled = facts.labelledOutput == index
        if isLabelled, let labelFile, let labels = line("labels") {
            members.append(
                Member(
                    key: "labels", value: JSONText.quoted(labelFile),
                    comment: comment(labels).map { "\(classes) names, \($0)" }))
        } else if takesPictures {
            let known =
                [1000: " (\"imagenet-1k\" for ImageNet's)", 1001: " (\"imagenet-1001\" for ImageNet's)"][classes] ?? ""
            open.append(
                "labels: the name of a file with \(classes) lines\(known), if these are classes; or type: embedding, if pictures are compared by them"
            )
        }
        var remark: String?
        if isLabelled, let activation = line("activation") {
            // Probabilities need no activation, which is the default.
            if activation.value == "null" {
                remark = comment(activation).map { "no activation: \($0)" }
            } else {
                members.append(Member(key: "activation", value: activation.value, comment: comment(activation)))
            }
        } else if takesPictures, let sentence = activation(port, index) {
            open.append(sentence)
        }
        if let member = dequantization(port, index, isLabelled: isLabelled, &open) { members.append(member) }
        return Self.finish(members, path, open, &notes, remark: remark)
    }

    private func dequantization(_ port: TensorPort, _ index: Int, isLabelled: Bool, _ open: inout [String]) -> Member? {
        if isLabelled, let scale = line("dequantize.scale"), let bias = line("dequantize.bias") {
            return Member(
                key: "dequantize", value: "{ \"scale\": \(scale.value), \"bias\": \(bias.value) }",
                comment: comment(scale))
        }
        if !port.elementType.isFloatingPoint, let fact = facts.outputQuantizations[index] {
            return Member(
                key: "dequantize", value: "{ \"scale\": \(fact.value.scale), \"bias\": \(fact.value.bias) }",
                comment: "from \(fact.source): \(fact.key)")
        }
        guard port.elementType == .uint8 || port.elementType == .int8 else { return nil }
        let scores = port.elementType == .uint8 ? "\"standard\": \"[0,1]\"" : "\"scale\": 0.00390625, \"bias\": 0.5"
        open.append("dequantize: the scale and zero point of the model's output")
        return Member(key: "dequantize", value: "{ \(scores) }")
    }

    /// The open decision about the activation of an output without labels, or of unknown kind; nil if nothing is open.
    private func activation(_ port: TensorPort, _ index: Int) -> String? {
        guard let scores = facts.scores, facts.scoredOutput == index else {
            return port.elementType.isFloatingPoint ? "activation: softmax (or sigmoid), if the file gives logits" : nil
        }
        switch scores.kind {
        case .probabilities: return nil
        case .logits:
            return
                "activation: softmax (or sigmoid, where several classes may be right), if these are classes: the file gives logits (\(scores.words))"
        case .unclear: return "activation: softmax (or sigmoid), if the file gives logits (\(scores.words))"
        }
    }
}
