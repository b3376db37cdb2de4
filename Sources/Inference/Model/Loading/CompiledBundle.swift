internal import FileFormats

/// A bundle after its model was compiled, and the plans for reading its outputs as observations of a picture.
struct CompiledBundle {
    let opened: OpenedBundle
    let compiled: any CompiledModel
    let observations: [ObservationPlan]
    /// The sources of the description of a model without model.json, and what does not fit in it.
    private(set) var provenance: ModelProvenance?

    var engine: any Engine { opened.model.engine }

    /// Matches the observations that the bundle declares with the outputs of the compiled model.
    init(_ opened: OpenedBundle, _ compiled: any CompiledModel) throws(InferenceError) {
        self.opened = opened
        self.compiled = compiled
        provenance = opened.provenance
        // Derived facts that do not fit are not a mistake in the bundle: the model is served as tensors, and the
        // provenance states the reason.
        let isDerived = opened.bundle.manifest == nil
        let problems = isDerived ? ProblemList() : opened.planner.problems
        let declared = opened.manifest?.observations ?? []
        observations = (declared.isEmpty ? opened.planner.builtInObservations : declared).compactMap {
            ObservationPlan($0, plan: opened.plan, compiled: compiled, problems: problems)
        }
        try opened.planner.problems.throwAny(of: opened.bundle)
        guard isDerived else { return }
        for problem in problems.problems {
            provenance?.leaveOpen("outputs", "outputs that fit: \(problem.reason)")
        }
    }

    /// The description for clients.
    func description(version: String?, opensBatch: Bool) -> ModelDescription {
        func features(_ features: some Sequence<FeatureDescription>) -> [FeatureDescription] {
            features.map { opensBatch ? $0.openingBatch : $0 }
        }
        let bundle = opened.bundle, plan = opened.plan
        var description = ModelDescription(
            bundle, opened.manifest, version: version, file: plan.about,
            backend: (opened.manifest?.backend ?? ModelFormat(path: bundle.source.path)).rawValue,
            features: (features(plan.inputs.map(\.description)), features(plan.outputs.map(\.description))))
        description.embeddingLabels = observations.first(where: \.output.classifies)?.output.labels
        return description
    }

    /// The transforms of pixels and scores, one entry for each input and output.
    var treatment: [String] {
        let inputs = opened.plan.inputs.map { ("input", $0.description) }
        let outputs = opened.plan.outputs.map { ("output", $0.description) }
        return (inputs + outputs).compactMap { kind, feature in
            feature.treatment.map { "\(kind) \"\(feature.name)\": \($0)" }
        }
    }
}
