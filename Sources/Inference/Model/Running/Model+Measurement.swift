internal import FlowControl
internal import ImagePipeline

/// The measurements of the performance report other than predictions.
extension Model {
    /// The time of each layer in several inferences on zeros; the model must have been compiled with profiling.
    package func layerProfiles(runs: Int) async throws(InferenceError) -> [[LayerProfile]] {
        guard plan.hasZeros else { return [] }
        do throws(EngineError) {
            let request = try compiled.makeRequest()
            let inputs = try zeros()
            var profiles: [[LayerProfile]] = []
            for _ in 0..<max(1, runs) {
                try setInputs(of: request, to: inputs)
                try await request.runAnything()
                profiles.append(try request.profile())
            }
            return profiles
        } catch {
            throw .engine(error)
        }
    }

    /// Decodes a picture into an input tensor, as a prediction does, without running the model: into one of the pool,
    /// or for an open size into one of the picture's own.
    package func decode(_ image: EncodedImage) throws(InferenceError) {
        guard plan.inputs.count == 1, let input = plan.inputs.first, case .image(let pipeline) = input.kind else {
            throw .unsupported(model: description.name, reason: "does not take one image")
        }
        guard pipeline.spec.openSize == nil else { return try decode(image, pipeline, input) }
        let filled: InputTensors
        do throws(EngineError) { filled = try tensors.take() } catch { throw .engine(error) }
        defer { tensors.giveBack(filled) }
        guard let tensor = filled.tensors.first else { return }
        let filler = InputFiller(options: PredictionOptions()) { Task.isCancelled }
        _ = try filler.fill(tensor, with: .image(image), plan: input)
    }

    private func decode(
        _ image: EncodedImage, _ pipeline: ImagePipeline, _ input: InputPlan
    ) throws(InferenceError) {
        let options = PredictionOptions(), name = input.description.name
        let info: ImageInfo
        do throws(ImageError) { info = try pipeline.checked(image) } catch { throw .image(error, input: name) }
        let resolved = pipeline.resolved(for: info, options: image.decoding(options))
        let shape = input.description.shape.resolved(
            width: resolved.spec.width, height: resolved.spec.height, resolved.spec.layout)
        let tensor: any EngineTensor
        do throws(EngineError) {
            tensor = try compiled.makeTensor(elementType: input.description.elementType, shape: shape)
        } catch {
            throw .engine(error)
        }
        let filler = InputFiller(options: options) { Task.isCancelled }
        _ = try filler.fill(tensor, with: .image(image), plan: input.resolved(resolved))
    }

    /// The number of bytes that each additional prediction in flight holds in the engine: its request with the outputs,
    /// and its inputs. Decoding a picture takes memory for its rows in addition; the model's weights and the memory of
    /// the engine's streams exist only once.
    /// - Parameters:
    ///   - count: the number of requests to average over.
    ///   - resident: returns the resident memory of this process in bytes.
    /// - Returns: nil if it is unknown.
    package func bytesPerPrediction(
        count: Int, resident: () -> Int?
    ) async throws(InferenceError) -> Int? {
        guard plan.hasZeros, count > 0, let before = resident() else { return nil }
        do throws(EngineError) {
            var requests: [any InferRequest] = []
            for _ in 0..<count {
                let request = try compiled.makeRequest()
                try setInputs(of: request, to: try zeros())
                // Memory becomes resident only when it is used, so each request must run.
                try await request.runAnything()
                requests.append(request)
            }
            guard let after = resident() else { return nil }
            return withExtendedLifetime(requests) { max(0, after - before) / count }
        } catch {
            throw .engine(error)
        }
    }

    private func zeros() throws(EngineError) -> [any EngineTensor] {
        var tensors: [any EngineTensor] = []
        for input in plan.inputs {
            let tensor = try compiled.makeTensor(
                elementType: input.description.elementType, shape: input.description.shape)
            tensor.zero()
            tensors.append(tensor)
        }
        return tensors
    }
}
