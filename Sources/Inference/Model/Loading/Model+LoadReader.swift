internal import FlowControl
internal import ImagePipeline
internal import SystemSupport

extension Model {
    /// Loads the networks of a reader one after another, reads an empty line with the recognizer, and compares the
    /// goldens of the bundle.
    static func load(
        _ bundle: ModelBundle, _ description: ReaderDescription, _ plan: LoadPlan
    ) async throws(InferenceError) -> Model {
        var models: [ReaderPart: Model] = [:], report = LoadReport()
        for part in description.parts {
            let model = try await load(LoadPlan(plan, part: .reader(part), isChecked: !models.isEmpty))
            if models.isEmpty { report = model.loadReport } else { report.add(part: model.loadReport) }
            models[part] = model
        }
        guard let find = models[.find], let read = models[.read] else {
            throw .invalidBundle(
                name: bundle.name, problems: [BundleProblem(path: "reader", reason: "lacks a detector or a recognizer")]
            )
        }
        let reader = Reader(description, find: find, turn: models[.turn], read: read)
        let model = Model(
            reader, bundle: bundle, version: plan.version,
            configuration: plan.configuration(for: description.runtime), loadReport: report)
        try await model.warmUpReader()
        if plan.configuration.comparesGoldens { try await model.checkGoldens(bundle.manifest?.goldenAgreement) }
        return model
    }

    /// Reads a page without text and a line without text: a network that compiles may still not run, and the number of
    /// a recognizer's classes may be known only after an inference.
    private func warmUpReader() async throws(InferenceError) {
        guard let reader else { return }
        let slot = try await admit(nil, PredictionOptions())
        defer { slot.release() }
        for (part, model) in reader.models {
            do throws(InferenceError) {
                let line = try EncodedImage.blank(width: 256, height: 48)
                if part == .turn {
                    _ = try await model.classifications(
                        of: [line], top: 1, threshold: 0, options: PredictionOptions(), slot: slot
                    ).first?.get()
                } else {
                    _ = try await model.observation(
                        of: line, request: ObservationRequest(task: .read), options: PredictionOptions(), slot: slot)
                }
            } catch {
                throw .invalidBundle(
                    name: description.name,
                    problems: [
                        BundleProblem(
                            path: reader.description[part]?.file ?? "",
                            reason: "does not run as the \"\(part.rawValue)\" of a reader: \(error.message)")
                    ])
            }
            model.counted.withLock { $0 = ModelStatistics() }
        }
    }
}

extension EncodedImage {
    /// A white picture.
    fileprivate static func blank(width: Int, height: Int) throws(InferenceError) -> EncodedImage {
        do throws(ImageError) {
            return EncodedImage(try PixelImage.filled(width: width, height: height, .white), time: 0)
        } catch {
            throw .image(error, input: nil)
        }
    }
}

extension LoadReport {
    /// Adds the times and the advice of another network of a bundle.
    mutating func add(part: LoadReport) {
        read &+= part.read
        compile &+= part.compile
        warmUp &+= part.warmUp
        comparison &+= part.comparison
        engineComparison &+= part.engineComparison
        isCached = isCached && part.isCached
        advice += part.advice.filter { !advice.contains($0) }
        // The bundle is confirmed if all its networks are.
        if confirmation.by != nil, part.confirmation.by == nil { confirmation = part.confirmation }
    }
}
