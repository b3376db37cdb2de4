internal import Calibration
internal import SystemSupport

/// A bundle after an engine has read its model file, before it is compiled: the plan of its tensors, and the inputs to
/// run before it serves.
struct OpenedBundle {
    let bundle: ModelBundle
    let model: OpenedModel
    let planner: ModelPlanner
    /// The manifest, or one that was derived from files without a model.json; nil if neither exists.
    let manifest: ModelManifest?
    /// The sources of a derived manifest.
    let provenance: ModelProvenance?
    let plan: ModelPlan
    let warmUp: WarmUp
    /// The goldens of the bundle; nil if it has none, or they are not compared.
    let goldens: GoldenSet?
    /// The calibration of a classifier; nil if it has none.
    let calibration: ClassifierCalibration?

    /// Matches the bundle with its model file. Blocks: reads goldens, the pictures of the warm-up and the calibration.
    /// - Parameter isNumbered: whether the bundle is a numbered folder.
    init(
        _ bundle: ModelBundle, _ model: OpenedModel, _ configuration: ModelConfiguration, isNumbered: Bool
    ) throws(InferenceError) {
        let planner = ModelPlanner(file: model.file, limits: configuration.imageLimits)
        let derived = bundle.facts.map { Self.derived($0, from: bundle, model.file, planner.problems) }
        var network: ModelManifest?
        if case .reader(let part)? = bundle.part {
            network = bundle.reader?.manifest(
                of: part, inputs: model.file.inputs, outputs: model.file.outputs, problems: planner.problems)
        }
        try planner.problems.throwAny(of: bundle)
        self.bundle = bundle
        self.model = model
        self.planner = planner
        let described = network ?? derived?.manifest
        manifest = bundle.manifest ?? described
        provenance = derived?.provenance
        plan = if let described { planner.plan(described) } else { planner.plan(bundle) }
        warmUp = WarmUp(bundle.manifest?.runtime.warmUp, plan: plan, problems: planner.problems)
        goldens =
            configuration.comparesGoldens
            ? GoldenSet(
                bundle: Self.goldenFolder(of: bundle, isNumbered: isNumbered),
                agreement: bundle.manifest?.goldenAgreement, problems: planner.problems) : nil
        calibration =
            configuration.readsCalibration && bundle.part == nil
            ? CalibrationFile.read(bundle, plan, problems: planner.problems) : nil
        try planner.problems.throwAny(of: bundle)
    }

    /// The description of a bundle without model.json.
    private static func derived(
        _ facts: GatheredFacts, from bundle: ModelBundle, _ file: any ModelFile, _ problems: ProblemList
    ) -> FactPlanner.Result {
        let path = bundle.source.path
        let planner = FactPlanner(
            facts: facts, inputs: file.inputs, outputs: file.outputs,
            file: ModelBundle.isSavedModel(path) ? "saved_model.pb" : FilePath.name(of: path) ?? "", name: bundle.name)
        guard bundle.part == .words(.pictures), let words = bundle.words else { return planner.plan() }
        return planner.plan(pictureSideOf: words, problems: problems)
    }

    /// The folder that contains a version's goldens: the bundle, or the numbered folder that contains a bare model
    /// file.
    private static func goldenFolder(of bundle: ModelBundle, isNumbered: Bool) -> String {
        guard isNumbered, (try? FolderReader.disk.kind(bundle.path)) == .file,
            let slash = bundle.path.lastIndex(of: "/")
        else { return bundle.path }
        return String(bundle.path[..<slash])
    }
}

extension ProblemList {
    /// Throws the problems of a bundle if there are any.
    func throwAny(of bundle: ModelBundle) throws(InferenceError) {
        guard problems.isEmpty else { throw .invalidBundle(name: bundle.name, problems: problems) }
    }
}
