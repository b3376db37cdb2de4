internal import EngineAPI
internal import FileFormats
internal import ImagePipeline
package import JSON
internal import ModelFacts

/// Reads `model.json` into a ``ModelManifest``, and collects all errors.
package struct ManifestParser {
    package let problems: ProblemList
    /// True if the bundle will be trained, not served.
    package var trains = false
    /// Reads a labels file of the bundle.
    package let labels: (_ file: String, _ path: String) -> [String]?
    /// Reads any other file of the bundle.
    package let contents: (_ file: String, _ path: String, _ maximum: Int) -> [UInt8]?
    /// Finds a file of the bundle; adds a problem if no file has that name.
    package let locate: (_ file: String, _ path: String) -> String?
    /// Reads `reader`, completed by the bundle's files; nil if a network is missing.
    package let reader: (ManifestObject) -> ReaderDescription?
    /// Reads the published files of a model that embeds texts; nil without them, or with a problem.
    package let words: () -> WordsDescription?

    // Wide: the readers of a bundle's other files.
    package init(
        problems: ProblemList, trains: Bool = false,
        labels: @escaping (_ file: String, _ path: String) -> [String]?,
        contents: @escaping (_ file: String, _ path: String, _ maximum: Int) -> [UInt8]?,
        locate: @escaping (_ file: String, _ path: String) -> String?,
        reader: @escaping (ManifestObject) -> ReaderDescription? = { object in
            object.problems.add(object.path, "is a reader, which cannot be trained")
            return nil
        },
        words: @escaping () -> WordsDescription? = { nil }
    ) {
        self.problems = problems
        self.trains = trains
        self.labels = labels
        self.contents = contents
        self.locate = locate
        self.reader = reader
        self.words = words
    }

    package func parse(_ value: JSONValue) -> ModelManifest {
        let root = ManifestObject(value, path: "", problems: problems)
        guard case .object = value else { return ModelManifest() }
        var manifest = ModelManifest()
        manifest.name = root.requiredString("name")
        manifest.identifier = root.requiredString("id")
        manifest.version = root.requiredString("version")
        manifest.details = root.string("details") ?? ""
        manifest.author = root.string("author") ?? ""
        manifest.license = root.string("license") ?? ""
        manifest.options = root.value("options")
        manifest.undecided = DecisionMarks.all(in: value)
        // `train` is a known key, but only training reads it.
        _ = root.value("train")

        if root.bool("placeholder") == true {
            manifest.placeholder = placeholderLabels(root)
            return manifest
        }
        if let pipeline = root.object("pipeline") {
            manifest.pipeline = PipelineParser(problems: problems).parse(pipeline)
            parseRest(ofPipeline: root, into: &manifest)
            return manifest
        } else if let reader = root.object("reader") {
            manifest.reader = self.reader(reader)
            parseRest(ofReader: root, into: &manifest)
            return manifest
        } else if !root.has("model"), let words = foundWords(root) {
            manifest.words = words
            parseRest(ofWords: root, into: &manifest)
            return manifest
        } else if let model = root.object("model") {
            parseModel(model, into: &manifest)
        } else {
            problems.add(
                "model", "is missing: expected an object with \"file\" and \"backend\", or \"pipeline\", or \"reader\"")
        }
        manifest.inputs = layers(of: root, key: "inputs", isInput: true, backend: manifest.backend).layers
        // Placeholders of TensorIO are inputs; they have a separate key only because training sets them from another
        // source.
        if root.has("placeholders") {
            manifest.inputs += layers(of: root, key: "placeholders", isInput: true, backend: manifest.backend).layers
        }
        (manifest.outputs, manifest.observations) = layers(
            of: root, key: "outputs", isInput: false, backend: manifest.backend)
        if let runtime = root.object("runtime") { manifest.runtime = parseRuntime(runtime) }
        if let golden = root.object("golden") { manifest.goldenAgreement = parseGolden(golden) }
        root.refuseUnknownKeys()
        manifest.scaleLines()
        return manifest
    }

    /// The labels of a bundle without a model: its own `labels`, or those of its outputs.
    private func placeholderLabels(_ root: ManifestObject) -> [String] {
        // The form of the later model.
        for key in ["model", "inputs", "placeholders", "pipeline", "reader", "zero_shot", "runtime", "golden"] {
            _ = root.value(key)
        }
        defer { root.refuseUnknownKeys() }
        switch root.value("labels") {
        case .string(let file)?: return ImageNetLabels.named(file) ?? labels(file, "labels") ?? []
        case .array(let elements)?:
            return elements.enumerated().compactMap { index, element in
                if case .string(let label) = element, !label.isEmpty { return label }
                problems.add("labels[\(index)]", "expected a label, found \(element.kind)")
                return nil
            }
        case let value?:
            problems.add("labels", "expected an array of labels or the name of a file, found \(value.kind)")
            return []
        case nil: break
        }
        guard root.has("outputs") else { return [] }
        for output in root.objects("outputs") {
            guard let file = output.string("labels") else { continue }
            return ImageNetLabels.named(file) ?? labels(file, output.path(of: "labels")) ?? []
        }
        return []
    }

    private func parseGolden(_ object: ManifestObject) -> Double {
        let agreement = object.number("agreement") ?? 1
        if !(0...1).contains(agreement) {
            problems.add(object.path(of: "agreement"), "expected a number from 0 to 1, found \(agreement)")
        }
        object.refuseUnknownKeys()
        return agreement
    }

    /// Reads the part of a reader's model.json that it shares with models; `runtime` applies to each of its networks.
    private func parseRest(ofReader root: ManifestObject, into manifest: inout ModelManifest) {
        for key in ["model", "inputs", "outputs", "placeholders", "pipeline"] where root.has(key) {
            problems.add(key, "does not go with \"reader\", which has the form of its networks")
        }
        if let runtime = root.object("runtime") { manifest.runtime = parseRuntime(runtime) }
        // Readers compute in 32-bit floats unless model.json says otherwise.
        manifest.runtime.precision = manifest.runtime.precision ?? .float32
        manifest.reader?.runtime = manifest.runtime
        if let golden = root.object("golden") { manifest.goldenAgreement = parseGolden(golden) }
        root.refuseUnknownKeys()
    }

    /// The model that embeds texts, if model.json names no other one; a problem for `zero_shot` in a
    /// folder without such a model.
    private func foundWords(_ root: ManifestObject) -> WordsDescription? {
        let before = problems.problems.count
        if let words = words() { return words }
        if root.has("zero_shot"), problems.problems.count == before {
            problems.add(
                "zero_shot",
                "is for a folder with a model for pictures and texts, as published: \(WordsDescription.tokenizerFile) and "
                    + "vision_model.onnx with text_model.onnx, or one model.onnx that takes both")
        }
        return nil
    }

    /// Reads the part of model.json that belongs to a model that embeds texts; the rest is read from its files.
    private func parseRest(ofWords root: ManifestObject, into manifest: inout ModelManifest) {
        for key in ["inputs", "outputs", "placeholders"] where root.has(key) {
            problems.add(key, "does not go with the published files of a model for texts, which state it")
        }
        if let zeroShot = root.object("zero_shot") {
            if manifest.words?.takesPictures == false {
                problems.add("zero_shot", "is for a model that takes pictures: this one embeds texts alone")
            }
            if var own = manifest.words?.zeroShot {
                WordsParser(object: zeroShot).apply(to: &own)
                manifest.words?.zeroShot = own
            }
        }
        if let runtime = root.object("runtime") { manifest.runtime = parseRuntime(runtime) }
        manifest.words?.runtime = manifest.runtime
        if let golden = root.object("golden") { manifest.goldenAgreement = parseGolden(golden) }
        root.refuseUnknownKeys()
    }

    /// Reads the part of `runtime` and `golden` that a pipeline shares with models. Other runtime keys belong to the
    /// models that it names.
    private func parseRest(ofPipeline root: ManifestObject, into manifest: inout ModelManifest) {
        for key in ["model", "inputs", "outputs", "placeholders"] where root.has(key) {
            problems.add(key, "does not go with \"pipeline\": the models that it names have their own")
        }
        if let runtime = root.object("runtime") {
            manifest.runtime.load = runtime.choice("load", LoadPolicy.self)
            manifest.runtime.idleUnloadSeconds = runtime.integer("idle_unload_seconds", in: 0...31_536_000)
            manifest.runtime.drift = runtime.bool("drift")
            runtime.refuseUnknownKeys()
        }
        if let golden = root.object("golden") { manifest.goldenAgreement = parseGolden(golden) }
        root.refuseUnknownKeys()
    }

    private func parseModel(_ model: ManifestObject, into manifest: inout ModelManifest) {
        manifest.file = model.requiredString("file")
        // A relative path inside the bundle is allowed: Hugging Face's repositories have `onnx/model.onnx`.
        let parts = manifest.file.split(separator: "/", omittingEmptySubsequences: false)
        if !manifest.file.isEmpty, parts.contains(where: { $0.isEmpty || $0 == ".." || $0 == "." }) {
            problems.add(model.path(of: "file"), "expected a name inside the bundle, found \"\(manifest.file)\"")
            manifest.file = ""
        }
        manifest.quantized = model.bool("quantized") ?? false
        manifest.type = model.string("type") ?? ""
        _ = model.value("class")
        if let backend = model.choice("backend", ModelFormat.self) {
            manifest.backend = backend
        } else if !model.has("backend"), !manifest.file.isEmpty {
            // Older TensorIO bundles state no backend: it follows from the file's name.
            if let backend = Self.backend(of: manifest.file) {
                manifest.backend = backend
            } else {
                let names = ModelFormat.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
                problems.add(
                    model.path(of: "backend"),
                    "is missing, and does not follow from \"\(manifest.file)\": expected one of \(names)")
            }
        }
        if let modes = model.elements("modes") {
            let names = modes.compactMap { if case .string(let name) = $0 { name } else { nil } }
            if trains, !names.contains("train") {
                problems.add(
                    model.path(of: "modes"), "lacks \"train\" (found \(names.listed)): the model cannot be trained")
            } else if !trains, !names.contains("predict"), !names.contains("eval") {
                // A graph for evaluation answers with its outputs, such as a loss, as one for predictions does.
                problems.add(
                    model.path(of: "modes"),
                    "lacks \"predict\" and \"eval\" (found \(names.listed)): only models that predict or evaluate can be served"
                )
            }
        } else if trains {
            problems.add(model.path(of: "modes"), "lacks \"train\": the model cannot be trained")
        }
        model.refuseUnknownKeys()
    }

    /// The backend for the name of a model file; TensorFlow's SavedModels are folders, which have no extension.
    private static func backend(of file: String) -> ModelFormat? {
        guard let dot = file.lastIndex(of: "."), dot > file.startIndex else { return .tensorflow }
        return ModelBundle.isModelFolder(file) ? .coreml : ModelFormat(file: file)
    }

    private func parseRuntime(_ object: ManifestObject) -> ModelRuntime {
        var runtime = ModelRuntime()
        runtime.device = device(object)
        runtime.engine = object.choice("engine", EnginePreference.self)
        runtime.hint = object.choice("hint", PerformanceHint.self)
        runtime.precision = object.choice("precision", InferencePrecision.self)
        runtime.integerWeights = object.bool("integer_weights")
        runtime.instances = object.integer("instances", in: 1...1024)
        runtime.maxInFlight = object.integer("max_in_flight", in: 1...65_536)
        runtime.loneThreads = object.integer("lone_threads", in: 0...1024)
        runtime.load = object.choice("load", LoadPolicy.self)
        runtime.idleUnloadSeconds = object.integer("idle_unload_seconds", in: 0...31_536_000)
        runtime.batch = object.integer("batch", in: 1...256)
        runtime.drift = object.bool("drift")
        runtime.warmUp = object.object("warmup").map(parseWarmUp)
        object.refuseUnknownKeys()
        return runtime
    }

    /// Reads a device, or a list of devices, of which the first usable one is taken.
    private func device(_ object: ManifestObject) -> String? {
        guard case .array(let elements)? = object.value("device") else { return object.string("device") }
        let names = elements.compactMap { if case .string(let name) = $0 { name } else { nil } }
        guard !names.isEmpty, names.count == elements.count, names.allSatisfy({ !$0.isEmpty && !$0.contains(",") })
        else {
            problems.add(
                object.path(of: "device"), "expected a device, or a list of devices such as [\"gpu:0\", \"cpu\"]")
            return nil
        }
        return names.joined(separator: ",")
    }

    private func parseWarmUp(_ object: ManifestObject) -> ModelRuntime.WarmUpSettings {
        var warmUp = ModelRuntime.WarmUpSettings()
        warmUp.runs = object.integer("runs", in: 0...1_000) ?? 1
        let path = object.path(of: "image")
        var names: [(path: String, value: JSONValue)] = []
        switch object.value("image") {
        case .string(let name)?: names = [(path, .string(name))]
        case .array(let elements)? where (1...64).contains(elements.count):
            names = elements.enumerated().map { ("\(path)[\($0.offset)]", $0.element) }
        case .array(let elements)?: problems.add(path, "expected 1 to 64 pictures, found \(elements.count)")
        case let value?: problems.add(path, "expected the name of a picture, or an array of names, found \(value.kind)")
        case nil: break
        }
        for (path, value) in names {
            guard case .string(let name) = value else {
                problems.add(path, "expected the name of a picture in the bundle, found \(value.kind)")
                continue
            }
            if let file = locate(name, path) { warmUp.pictures.append((path, file)) }
        }
        object.refuseUnknownKeys()
        return warmUp
    }

    private func layers(
        of root: ManifestObject, key: String, isInput: Bool, backend: ModelFormat
    ) -> (layers: [ModelManifest.Layer], observations: [ObservationOutput]) {
        // A Core ML file describes itself: model.json states only the differences.
        let isPartial = backend == .coreml
        guard root.has(key) || !isPartial else { return ([], []) }
        guard root.has(key) else {
            problems.add(key, "is missing: expected an array with one object per \(isInput ? "input" : "output")")
            return ([], [])
        }
        let objects = root.objects(key)
        if objects.isEmpty, root.elements(key) != nil { problems.add(key, "is empty") }
        var names: Set<String> = []
        var layers: [ModelManifest.Layer] = [], observations: [ObservationOutput] = []
        for object in objects {
            if !isInput, ObservationParser.reads(object) {
                let output = ObservationParser(object: object, labels: labels, contents: contents).parse()
                observations.append(output)
                // A tensor may serve several purposes.
                layers += output.layers.filter { layer in !layers.contains { $0.name == layer.name } }
                continue
            }
            let layer = LayerParser(object: object, isInput: isInput, labels: labels, isPartial: isPartial).parse()
            if !layer.name.isEmpty, !names.insert(layer.name).inserted {
                problems.add(object.path(of: "name"), "\"\(layer.name)\" is also the name of another layer")
            }
            layers.append(layer)
        }
        return (layers, observations)
    }
}
