package import EngineAPI
internal import FileFormats
internal import ImagePipeline
internal import JSON
internal import ModelFacts

/// Converts the metadata of a model file, and of the files next to it, to the contents of a model.json, given the
/// file's tensors. No value is guessed: missing values are listed, and the model is then served as tensors.
package struct FactPlanner {
    package let facts: GatheredFacts
    package let inputs: [TensorPort]
    package let outputs: [TensorPort]
    /// The model file's name, and the name that it is served under.
    package let file: String, name: String

    package init(facts: GatheredFacts, inputs: [TensorPort], outputs: [TensorPort], file: String, name: String) {
        self.facts = facts
        self.inputs = inputs
        self.outputs = outputs
        self.file = file
        self.name = name
    }

    /// The result of ``plan()``.
    package struct Result {
        /// The contents of a model.json; nil if no picture can be prepared.
        package var manifest: ModelManifest?
        package var provenance = ModelProvenance()
        /// The labels, the index of their output, and the file that they were read from, if it is a file of labels.
        var labels: [String]?
        var labelledOutput: Int?
        var labelFile: String?
        /// The index of the output with a number for each class, whether or not these have labels, and its last
        /// operation.
        var scoredOutput: Int?
        var ending: Fact<GraphEnding>?
        /// The quantization of that output, if its elements are integers.
        var outputQuantization: TensorQuantization?
        /// The name of the group of outputs that are boxes, masks or points.
        var observed: String?
        var observedTask: ObservationTask?
    }

    /// The values that are undecided, with their keys in model.json.
    struct Missing {
        var entries: [(key: String, sentence: String)] = []

        mutating func add(_ key: String, _ sentence: String) { entries.append((key, sentence)) }
    }

    /// A picture's tensor with its extents.
    struct PicturePort {
        let port: TensorPort
        let layout: TensorLayout
        /// -1 if the file leaves it open.
        let height: Int, width: Int
        let channels: Int
    }

    // Long: the facts of each part of a bundle, one after the other.
    package func plan() -> Result {
        var result = Result()
        guard let picture = picturePort() else {
            var provenance = ModelProvenance()
            _ = outputLayers(facts.sheet, &provenance, &result)
            result.provenance.lines = provenance.lines
            result.provenance.remarks = remarks(facts.sheet) + provenance.remarks
            // A file without any description may be a model with inputs that are not pictures.
            if facts.sheet.framing != nil || facts.sheet.labels != nil || facts.sheet.task != nil {
                result.provenance.leaveOpen("inputs", reasonWithoutPicture())
            }
            return result
        }
        let known =
            picture.height > 0 && picture.width > 0 ? FactSize(height: picture.height, width: picture.width) : nil
        var sheet = facts.sheet(input: known)
        if let head = sheet.head, head.value == .unspecifiedYOLO, sheet.framing?.basis ?? .convention == .convention {
            let isDetector = outputs.contains { $0.shape.dimensions.count == 3 }
            sheet = .merged([sheet, UltralyticsReader.unspecified(head, isDetector: isDetector)])
        }
        let finding = ObservationFacts.find(
            sheet, outputs: self.outputs, labels: labels(sheet), input: known, file: file)
        var provenance = ModelProvenance()
        provenance.remarks = remarks(sheet)
        if case .observation(let found) = finding { found.pictures?.complete(&sheet, &provenance) }
        var manifest = ModelManifest()
        manifest.name = sheet.name?.value ?? name
        manifest.identifier = name
        manifest.details = sheet.details?.value ?? ""
        manifest.author = sheet.author?.value ?? ""
        manifest.license = sheet.license?.value ?? ""
        manifest.file = file
        manifest.backend = ModelFormat(path: file)
        let input = inputLayer(picture, sheet, &provenance)
        let outputs: [ModelManifest.Layer]
        switch finding {
        case .observation(let found):
            result.labels = found.labels?.value
            if let source = found.labels?.source, facts.labelFiles.contains(where: { $0.file == source }) {
                result.labelFile = source
            }
            (result.observed, result.observedTask) = (found.output.name, found.output.task)
            provenance.lines += found.lines
            provenance.remarks += found.remarks
            if let caveat = found.caveat { provenance.leaveOpen("outputs", caveat) }
            manifest.observations = [found.output]
            outputs = found.output.layers
        case .unread(let reason):
            provenance.leaveOpen("outputs", reason)
            outputs = plainLayers()
        case .depth(let found):
            result.observed = found.port.name
            provenance.note(ObservationFacts.prefix + "type", "\"depth\"", found.source, found.key)
            outputs = depthLayers(found.port)
        case .nothing:
            outputs = outputLayers(sheet, &provenance, &result)
        }
        result.provenance = provenance
        guard let input else { return result }
        manifest.inputs = [input]
        manifest.outputs = outputs
        result.manifest = manifest
        return result
    }

    /// The outputs as plain tensors, except for a depth map.
    private func depthLayers(_ port: TensorPort) -> [ModelManifest.Layer] {
        plainLayers().map { layer in
            var layer = layer
            if layer.name == port.name { (layer.kind, layer.isAsInFile) = (.depth, true) }
            return layer
        }
    }

    private func remarks(_ sheet: FactSheet) -> [String] {
        sheet.problems.map { "\($0.source): \($0.reason)" } + sheet.disagreements.map(\.sentence)
            + sheet.unsupported.map { "\($0.source), \($0.key): \($0.value)" }
    }

    /// Lists of labels, the most likely first.
    func labels(_ sheet: FactSheet) -> [Fact<[String]>] {
        [sheet.labels].compactMap { $0 }
            + facts.labelFiles.map { Fact($0.labels, source: $0.file, key: "one name per line") }
            + [sheet.placeholderLabels].compactMap { $0 }
    }
}
