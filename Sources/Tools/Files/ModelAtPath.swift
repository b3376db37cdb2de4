internal import Inference
internal import JSON
internal import Repository
internal import ServicePlanning
internal import SystemSupport

/// Models that the command line names by their paths.
package enum ModelAtPath {
    /// The path of the model that a path means: for a folder of numbered versions that of the newest one, for a folder
    /// with one model that of the model, otherwise the path itself. Reads folders: blocks.
    /// - Parameter note: called with a sentence that names the choice, if there was one.
    package static func resolved(_ path: String, note: (String) -> Void) -> String {
        let versions = ModelRepository.versions(at: path)
        guard let newest = versions.last, newest.path != FilePath.absolute(path) else { return path }
        if let number = newest.number {
            let all = versions.compactMap(\.number).joined(separator: ", ")
            note(
                PrintableText.text(
                    "note: \(path) has \(versions.count == 1 ? "version" : "the versions") \(all); version \(number) is used"
                ))
        } else {
            note(PrintableText.text("note: \(newest.path) is used, the only model in \(path)"))
        }
        return newest.path
    }

    /// Loads the model.
    /// - Throws: the model's problems.
    static func load(_ path: String, _ configuration: ModelConfiguration) async throws(CommandError) -> Model {
        do throws(InferenceError) {
            return try await Model.load(contentsOf: path, configuration: configuration)
        } catch {
            throw CommandError(error.message)
        }
    }

    /// Loads the model without the calibration that it may have, to compare or calibrate its network.
    /// - Throws: the model's problems.
    static func loadUncalibrated(
        _ path: String, _ configuration: ModelConfiguration
    ) async throws(CommandError) -> Model {
        var configuration = configuration
        configuration.readsCalibration = false
        return try await load(path, configuration)
    }

    /// A repository of the model at a path, and the model's name. For a pipeline, it also has the models next to it and
    /// those of the settings. Reads folders: blocks.
    static func repository(
        _ path: String, _ configuration: ModelConfiguration, _ plan: ServicePlan,
        onEvent: @escaping @Sendable (ModelRepository.Event) -> Void = { _ in }
    ) throws(RepositoryError) -> (repository: ModelRepository, name: String) {
        let model = NamedModel(at: path), bundle = FilePath.absolute(resolved(path) { _ in })
        var folders: [String] = [], named = [model]
        if (try? ModelBundle(path: bundle))?.manifest?.pipeline != nil {
            // The folder of a version is in the folder of its model.
            let isVersion = FilePath.name(of: bundle)?.allSatisfy(\.isNumber) ?? false
            let beside = FilePath.parent(of: isVersion ? FilePath.parent(of: bundle) : bundle)
            folders = [beside] + plan.folders.filter { $0 != beside }
            named += plan.named.filter { $0.name != model.name }
        }
        let repository = ModelRepository(
            folders: folders, named: named, configuration: configuration, defaultPolicy: .lazy, onEvent: onEvent)
        repository.allowTaughtStages()
        try repository.discover()
        return (repository, model.name)
    }
}
