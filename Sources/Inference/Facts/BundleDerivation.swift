internal import FoundationEssentials
internal import JSON
package import ModelFacts

/// The metadata of a model file and the files next to it, for `ocelli init`: the file's tensors, and each value with
/// its source.
package struct BundleDerivation: Sendable {
    /// The inputs and outputs of the model file.
    package let outline: ModelOutline
    /// The folder that model.json belongs in, and the model file's path in it.
    package let folder: String, file: String
    /// Each value with its source, and what no source says.
    package private(set) var provenance: ModelProvenance
    /// The labels, where they are known, and the file beside the model that they are in, if it is one a bundle may
    /// name.
    package let labels: [String]?, labelFile: String?
    /// The metadata of the model as a whole, as the sources give it.
    package let name: String?, details: String?, author: String?, license: String?
    /// The output that the labels are for.
    package let labelledOutput: Int?
    /// The output with a number for each class, labelled or not.
    package let scoredOutput: Int?
    /// The kind of that output's numbers, and in words how it is known; nil where the file does not tell.
    package private(set) var scores: (kind: ScoreKind, words: String)?
    /// The quantization of that output's integers.
    private let outputQuantization: TensorQuantization?
    /// The quantization of the only input's integers, and of each output's, where the file gives it.
    package let inputQuantization: Fact<TensorQuantization>?, outputQuantizations: [Fact<TensorQuantization>?]
    /// True if a source says that each class has a probability of its own.
    private let isMultiLabel: Bool
    /// The model file, or a SavedModel's folder.
    package let modelPath: String
    /// The name of the entry for outputs that are boxes, with masks and points; nil where no source says that they are.
    package let observedOutput: String?

    /// Reads a model file, or a folder as it was downloaded. Blocks.
    /// - Throws: an engine error that says why the model file cannot be read.
    package init(path: String) throws(InferenceError) {
        let (folder, file) = Self.place(of: path)
        self.folder = folder
        self.file = file
        let isFolder = (try? FolderReader.disk.kind(folder + "/" + file)) == .folder
        let model = file == "saved_model.pb" ? folder : folder + "/" + file
        modelPath = model
        outline = try ModelOutline(path: model)
        // A SavedModel's neighbours are in its own folder, or around it.
        let facts = GatheredFacts(
            model: model, folder: isFolder ? model : folder, layout: BundleLayout(around: isFolder ? model : folder))
        let last = file.split(separator: "/").last.map(String.init) ?? "saved_model.pb"
        let result = FactPlanner(
            facts: facts, inputs: outline.inputs, outputs: outline.outputs, file: last, name: ""
        ).plan()
        provenance = result.provenance
        labels = result.labels
        labelledOutput = result.labelledOutput
        scoredOutput = result.scoredOutput
        outputQuantization = result.outputQuantization
        inputQuantization = facts.sheet.inputQuantization
        outputQuantizations = outline.outputs.indices.map { facts.sheet.outputQuantization($0) }
        isMultiLabel = facts.sheet.multiLabel?.value ?? false
        scores = result.ending.map { ending -> (kind: ScoreKind, words: String) in
            switch ending.value {
            case .softmax: (.probabilities, "\(ending.source): \(ending.key), Softmax")
            case .sigmoid: (.probabilities, "\(ending.source): \(ending.key), Sigmoid")
            case .none: (.logits, "\(ending.source): \(ending.key), which is neither Softmax nor Sigmoid")
            }
        }
        observedOutput = result.observed
        // A head may have one class more than the file.
        labelFile = facts.labelFiles.first { $0.file == result.labelFile && $0.labels == result.labels }
            .flatMap { $0.file.split(separator: "/").last.map(String.init) }
        name = facts.sheet.name?.value
        details = facts.sheet.details?.value
        author = facts.sheet.author?.value
        license = facts.sheet.license?.value
    }

    /// True if ``scores`` are known from runs.
    package private(set) var wasRun = false

    /// True if only the values themselves can tell probabilities from logits.
    package var needsProbe: Bool {
        guard observedOutput == nil, scores == nil, let scoredOutput else { return false }
        return outline.outputs[scoredOutput].elementType.isFloatingPoint || outputQuantization != nil
    }

    /// The height and width of the picture, where they are known.
    package var pictureSize: (height: Int, width: Int)? {
        guard let shape = provenance.lines.first(where: { $0.name == "shape" })?.value else { return nil }
        let extents = shape.split { !$0.isNumber }.compactMap { Int($0) }
        return extents.count == 3 && extents[0] > 0 && extents[1] > 0 ? (extents[0], extents[1]) : nil
    }

    /// Takes what the outputs were like in a few runs.
    package mutating func take(_ probe: OutputProbe) {
        guard needsProbe, let scoredOutput, probe.outputs.indices.contains(scoredOutput),
            var values = probe.outputs[scoredOutput]
        else { return }
        if let quantization = outputQuantization, !outline.outputs[scoredOutput].elementType.isFloatingPoint {
            values = values.dequantized(scale: quantization.scale, zeroPoint: Double(quantization.zeroPoint))
        }
        let kind = values.kind, key = "a warm-up on noise, \(values.words)"
        let source = file.split(separator: "/").last.map(String.init) ?? file
        scores = (kind, "\(source): \(key)")
        wasRun = true
        guard labelledOutput == scoredOutput, kind != .unclear else { return }
        provenance.settle("activation")
        let activation = isMultiLabel ? "\"sigmoid\"" : "\"softmax\""
        provenance.lines.append(
            ModelProvenance.Line(
                name: "activation", value: kind == .logits ? activation : "null", source: source, key: key))
    }

    /// The bundle's folder, and the model file in it: `onnx/model.onnx` where the configuration lies a folder higher.
    private static func place(of path: String) -> (folder: String, file: String) {
        if (try? FolderReader.disk.kind(path)) == .folder, let layout = BundleLayout(folder: path) {
            if !layout.model.isEmpty { return (path, layout.model) }
            // A SavedModel with files beside it is a bundle; one alone is a model file, and its bundle lies around it.
            if layout.config || layout.preprocessor != nil || layout.metadata { return (path, "saved_model.pb") }
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let file = parts.last ?? path
        let parent = parts.dropLast().joined(separator: "/")
        let folder = parts.count == 1 ? "." : parent.isEmpty ? "/" : parent
        if parts.count > 2, parts[parts.count - 2] == "onnx" {
            let above = parts.dropLast(2).joined(separator: "/")
            if FileManager.default.fileExists(atPath: above + "/config.json") { return (above, "onnx/" + file) }
        }
        return (folder, file)
    }
}
