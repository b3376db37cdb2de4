internal import ImagePipeline
internal import Observations
internal import Teaching

/// The plan for reading one group of outputs: the tensors of the engine, and the decoders for their shapes.
struct ObservationPlan: Sendable {
    let output: ObservationOutput
    /// The engine's outputs, by role.
    let sources: [String: [Source]]
    /// The specification of the picture's tensor.
    private(set) var spec: ImageTensorSpec
    /// The decoder; nil if shapes are known only after an inference.
    private(set) var decoder: Decoder?

    struct Source: Sendable {
        let index: Int
        let elementType: ElementType
        let linear: LinearTransform?
    }

    enum Decoder: Sendable {
        case boxes(BoxDecoder, InstanceMaskDecoder?)
        case mask(MaskDecoder)
        case keypoints(KeypointDecoder)
        case embedding(EmbeddingDecoder)
        case text(TextDecoder)
        case regions(TextRegionDecoder)
    }

    /// Checks a description against the outputs of the compiled model; each error is added to the problems with its
    /// path.
    init?(_ output: ObservationOutput, plan: ModelPlan, compiled: any CompiledModel, problems: ProblemList) {
        let needed = plan.inputs.filter { $0.fallback == nil }
        guard needed.count == 1, let input = needed.first, case .image(let pipeline) = input.kind else {
            problems.add(
                "\(output.path).type",
                "is \"\(output.task.outputType)\", which needs exactly one input, of type \"image\"")
            return nil
        }
        self.output = output
        spec = pipeline.spec
        var sources: [String: [Source]] = [:]
        var shapes: [String: [[Int]]]? = [:]
        for role in output.roles {
            for tensor in output.tensors[role] ?? [] {
                guard let found = plan.outputs.first(where: { $0.description.name == tensor.name }),
                    compiled.outputs.indices.contains(found.index)
                else { return nil }
                sources[role, default: []].append(
                    Source(
                        index: found.index, elementType: found.description.elementType,
                        linear: tensor.linear ?? found.linear))
                // The input tensor holds one picture, so an axis that is still open counts the objects found.
                let shape = compiled.outputs[found.index].shape
                if shape.isStatic {
                    shapes?[role, default: []].append(shape.dimensions)
                } else {
                    shapes = nil
                }
            }
        }
        self.sources = sources
        guard checkDictionary(compiled, problems) else { return nil }
        guard let shapes else { return }
        // The number of boxes may be fixed and still depend on the size of the picture.
        guard spec.openSize == nil else { return }
        do throws(ObservationError) {
            decoder = try makeDecoder(shapes)
        } catch {
            guard case .unexpected(let role, let expected, let found) = error else { return nil }
            // Priors are reported for the single tensor that holds all boxes.
            let tensor = output.tensors[role]?.first ?? output.tensors["output"]?.first
            problems.add(
                tensor?.path ?? output.path,
                "the model file's tensor \"\(tensor?.name ?? output.name)\" does not fit: expected \(expected), found \(found)"
            )
            return nil
        }
    }

    /// Adds a problem for a dictionary that does not fit the number of classes, which is known although the number of
    /// steps may be open.
    private func checkDictionary(_ compiled: any CompiledModel, _ problems: ProblemList) -> Bool {
        guard case .text(let decoding) = output.kind, let source = sources["output"]?.first,
            let classes = compiled.outputs[source.index].shape.dimensions.last, classes > 0
        else { return true }
        do throws(ObservationError) {
            _ = try TextDecoder(decoding, shape: [1, 1, classes])
            return true
        } catch {
            problems.add(output.path, "the dictionary does not fit the model file: \(error.message)")
            return false
        }
    }

    /// The plan for one picture: if the tensor takes its picture's size, with that size.
    func resolved(for info: ImageInfo, options: ImageDecodeOptions) -> ObservationPlan {
        guard spec.openSize != nil else { return self }
        var plan = self
        plan.spec = spec.resolved(for: info, options: options)
        return plan
    }

    /// Makes the decoders for tensors of these shapes.
    func makeDecoder(_ shapes: [String: [[Int]]]) throws(ObservationError) -> Decoder {
        let (width, height) = (spec.width, spec.height)
        switch output.kind {
        case .boxes(let boxes):
            let decoder = try BoxDecoder(
                boxes.decoding, shapes: shapes, width: width, height: height, classes: output.labels?.count)
            guard let masks = boxes.masks else { return .boxes(decoder, nil) }
            let instances = try InstanceMaskDecoder(
                shape: shapes["prototypes"]?.first ?? [], coefficients: masks.coefficients, threshold: masks.threshold,
                width: width, height: height)
            return .boxes(decoder, instances)
        case .mask(let decoding):
            return .mask(
                try MaskDecoder(
                    decoding, shape: shapes["output"]?.first ?? [], width: width, height: height,
                    classes: output.labels?.count))
        case .keypoints(let decoding, let skeleton):
            let names = skeleton.names.count
            return .keypoints(
                try KeypointDecoder(
                    decoding, shape: shapes["output"]?.first ?? [], width: width, height: height,
                    names: names == 0 ? nil : names))
        case .embedding(let decoding, let classes):
            let shape = shapes["output"]?.first ?? []
            let decoder = try EmbeddingDecoder(decoding, shape: shape)
            if let classes, classes.dimension != decoder.dimension {
                throw .unexpected(
                    role: "output", expected: "\(classes.dimension) numbers, as \"\(classes.key)\" has",
                    found: decoding.pooling == nil ? "\(shape)" : "\(decoder.dimension) of \(shape)")
            }
            if case .taught(let head)? = classes, let grid = head.normal?.patches?.grid {
                let reader = if case .patches(let reader) = decoder.patches { reader } else { PatchReader?.none }
                guard let reader, reader.rows == grid.rows, reader.columns == grid.columns, reader.width == grid.width
                else {
                    throw .unexpected(
                        role: "output",
                        expected: "\(grid.rows) x \(grid.columns) patches of \(grid.width) numbers, as \"taught\" has",
                        found: "\(shape)")
                }
            }
            return .embedding(decoder)
        case .text(let decoding): return .text(try TextDecoder(decoding, shape: shapes["output"]?.first ?? []))
        case .regions(let decoding):
            return .regions(try TextRegionDecoder(decoding, shape: shapes["output"]?.first ?? []))
        }
    }

    /// The length of an embedding; nil if it is known only after an inference, or the output is not an embedding.
    var dimension: Int? {
        guard case .embedding(let decoder)? = decoder else { return nil }
        return decoder.dimension
    }

    /// The vectors of patches in an embedding's output; nil if they are known only after an inference, or the output is
    /// not an embedding.
    var patches: PatchReader.Finding? {
        guard case .embedding(let decoder)? = decoder else { return nil }
        return decoder.patches
    }

    /// A likely mistake in the description of an embedding; nil if there is no embedding, or no mistake.
    var advice: String? {
        guard case .embedding(let decoder)? = decoder else { return nil }
        return decoder.advice(output.name)
    }

    /// Calls `body` with the decoder of an embedding and its tensor; returns nil for other outputs.
    func withEmbedding<R>(
        of outputs: any EngineOutputs, _ body: (EmbeddingDecoder, OutputTensor) throws(ObservationError) -> R
    ) throws(InferenceError) -> R? {
        try withTensors(of: outputs) { (tensors) throws(InferenceError) -> R? in
            do throws(ObservationError) {
                let known = if let decoder { decoder } else { try makeDecoder(tensors.mapValues { $0.map(\.shape) }) }
                guard let tensor = tensors["output"]?.first, case .embedding(let decoder) = known else { return nil }
                return try body(decoder, tensor)
            } catch {
                throw inferenceError(error)
            }
        }
    }

    /// The error of a prediction for the reason that its outputs cannot be decoded.
    func inferenceError(_ error: ObservationError) -> InferenceError {
        switch error {
        case .tooMany:
            .invalidInput(
                name: "threshold",
                reason: "there are \(error.message), and none may be missing: ask for a higher one")
        case .notNumbers(let role):
            .invalidOutput(name: output.tensors[role]?.first?.name ?? output.name, reason: error.message)
        case .unexpected:
            .engine(EngineError(kind: .failure, operation: "read the model's answer", detail: error.message))
        case .cancelled: .stopped(at: .postprocess)
        }
    }

    /// Calls `body` with the group's tensors as 32-bit floats, which are valid only during the call.
    func withTensors<R>(
        of outputs: any EngineOutputs, _ body: ([String: [OutputTensor]]) throws(InferenceError) -> R
    ) throws(InferenceError) -> R {
        let list = output.roles.flatMap { role in (sources[role] ?? []).map { (role, $0) } }
        return try lend(list[...], of: outputs, [:], body)
    }

    /// Reads the first tensor, and calls itself for the others while that tensor's memory is valid.
    private func lend<R>(
        _ rest: ArraySlice<(String, Source)>, of outputs: any EngineOutputs, _ tensors: [String: [OutputTensor]],
        _ body: ([String: [OutputTensor]]) throws(InferenceError) -> R
    ) throws(InferenceError) -> R {
        guard let (role, source) = rest.first else { return try body(tensors) }
        return try outputs.reading(source.index) { (shape, raw) throws(InferenceError) -> R in
            let reader = ScoreReader(elementType: source.elementType, linear: source.linear, activation: nil)
            let result = reader.withScores(raw) { values -> Result<R, InferenceError> in
                Result { () throws(InferenceError) in
                    guard let tensor = OutputTensor(shape: shape.dimensions, values: values) else {
                        throw .engine(
                            EngineError(
                                kind: .failure, operation: "read output \(source.index)",
                                detail: "its memory has \(values.count) elements, its shape is \(shape)"))
                    }
                    var tensors = tensors
                    tensors[role, default: []].append(tensor)
                    return try lend(rest.dropFirst(), of: outputs, tensors, body)
                }
            }
            return try result.get()
        }
    }
}
