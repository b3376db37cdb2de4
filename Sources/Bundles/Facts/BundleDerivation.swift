package import EngineAPI
internal import FoundationEssentials
internal import JSON
package import ModelFacts
internal import SystemSupport

/// The metadata of a model file and the files next to it, for `ocelli init`: the tensors of the file, and each value
/// with its source.
package struct BundleDerivation: Sendable {
    /// The inputs and outputs of the model file.
    package let outline: ModelOutline
    /// The folder for model.json, and the model file's path relative to it.
    package let folder: String, file: String
    /// Each value with its source, and the values that no source states.
    package private(set) var provenance: ModelProvenance
    /// The labels, if they are known, and the file next to the model that contains them, if a bundle may name it.
    package let labels: [String]?, labelFile: String?
    /// The metadata of the model as a whole, as the sources state it.
    package let name: String?, details: String?, author: String?, license: String?
    /// The index of the output that the labels belong to.
    package let labelledOutput: Int?
    /// The index of the output with a number for each class, labelled or not.
    package let scoredOutput: Int?
    /// The kind of that output's numbers, and the source of that knowledge in words; nil if the file does not state it.
    package private(set) var scores: (kind: ScoreKind, words: String)?
    /// The quantization of that output, if its elements are integers.
    private let outputQuantization: TensorQuantization?
    /// The quantization of the only input, and of each output, if the file states it.
    package let inputQuantization: Fact<TensorQuantization>?, outputQuantizations: [Fact<TensorQuantization>?]
    /// True if a source states that each class has an independent probability.
    private let isMultiLabel: Bool
    /// The model file, or a SavedModel's folder.
    package let modelPath: String
    /// The name of the entry for outputs that are boxes, with masks and points; nil if no source states that.
    package let observedOutput: String?
    /// The task of these outputs.
    package let observedTask: ObservationTask?

    /// Reads a model file, or a folder as it was downloaded. Blocks.
    /// - Throws: an engine error with the reason the model file cannot be read.
    package init(path: String) throws(InferenceError) {
        let (folder, file) = Self.place(of: path)
        self.folder = folder
        self.file = file
        let isFolder = (try? FolderReader.disk.kind(folder + "/" + file)) == .folder
        let model = file == "saved_model.pb" ? folder : folder + "/" + file
        modelPath = model
        outline = try ModelOutline(path: model)
        // The files that describe a SavedModel are in its own folder, or in the one that contains it.
        let facts = GatheredFacts(
            model: model, folder: isFolder ? model : folder, layout: BundleLayout(around: isFolder ? model : folder))
        let last = FilePath.name(of: file) ?? "saved_model.pb"
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
        (observedOutput, observedTask) = (result.observed, result.observedTask)
        // A head may have one more class than the file has labels.
        labelFile = facts.labelFiles.first { $0.file == result.labelFile && $0.labels == result.labels }
            .flatMap { FilePath.name(of: $0.file) }
        name = facts.sheet.name?.value
        details = facts.sheet.details?.value
        author = facts.sheet.author?.value
        license = facts.sheet.license?.value
    }

    /// True if ``scores`` were determined by running the model.
    package private(set) var wasRun = false

    /// True if only the values themselves can distinguish probabilities from logits.
    package var needsProbe: Bool {
        guard observedOutput == nil, scores == nil, let scoredOutput else { return false }
        return outline.outputs[scoredOutput].elementType.isFloatingPoint || outputQuantization != nil
    }

    /// The height and width of the picture, if they are known.
    package var pictureSize: (height: Int, width: Int)? {
        guard let shape = provenance.lines.first(where: { $0.name == "shape" })?.value else { return nil }
        let extents = shape.split { !$0.isNumber }.compactMap { Int($0) }
        return extents.count == 3 && extents[0] > 0 && extents[1] > 0 ? (extents[0], extents[1]) : nil
    }

    /// Stores the values that the outputs had in a few runs.
    package mutating func take(_ probe: OutputProbe) {
        guard needsProbe, let scoredOutput, probe.outputs.indices.contains(scoredOutput),
            var values = probe.outputs[scoredOutput]
        else { return }
        if let quantization = outputQuantization, !outline.outputs[scoredOutput].elementType.isFloatingPoint {
            values = values.dequantized(scale: quantization.scale, zeroPoint: Double(quantization.zeroPoint))
        }
        let kind = values.kind, key = "a warm-up on noise, \(values.words)"
        let source = FilePath.name(of: file) ?? file
        scores = (kind, "\(source): \(key)")
        wasRun = true
        guard labelledOutput == scoredOutput, kind != .unclear else { return }
        provenance.decide("activation")
        let activation = isMultiLabel ? "\"sigmoid\"" : "\"softmax\""
        provenance.lines.append(
            ModelProvenance.Line(
                name: "activation", value: kind == .logits ? activation : "null", source: source, key: key))
    }

    /// The bundle's folder, and the model file relative to it: `onnx/model.onnx` if the configuration is one folder
    /// higher.
    private static func place(of path: String) -> (folder: String, file: String) {
        if (try? FolderReader.disk.kind(path)) == .folder, let layout = BundleLayout(folder: path) {
            if !layout.model.isEmpty { return (path, layout.model) }
            // A SavedModel with files next to it is a bundle; without them it is a model file, and its bundle is the
            // folder that contains it.
            if layout.config || layout.preprocessor != nil || layout.metadata { return (path, "saved_model.pb") }
        }
        let file = String(path.dropFirst(FilePath.folder(of: path).count)), folder = FilePath.parent(of: path)
        if let export = BundleLayout.exportFolders.first(where: { folder.hasSuffix("/" + $0) }) {
            let above = FilePath.parent(of: folder), names = (try? FolderReader.disk.names(above)) ?? []
            if BundleLayout.sources.contains(where: names.contains) { return (above, export + "/" + file) }
        }
        return (folder, file)
    }
}
