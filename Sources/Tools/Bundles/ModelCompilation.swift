internal import FoundationEssentials
internal import Inference
internal import JSON
internal import Repository
internal import ServicePlanning
package import Settings
internal import SystemSupport

/// Compiles models into the cache ahead of time: `ocelli compile`.
///
/// Each model is checked, loaded and run as by the daemon at its start, with the same settings, so that the daemon
/// finds it in the cache.
package enum ModelCompilation {
    /// Compiles models, one after another.
    /// - Parameters:
    ///   - paths: bundles, model files, folders of them, or folders of numbered versions; if empty, the models of the
    ///     settings.
    ///   - output: called with a line for each model.
    ///   - complain: called with a line for each model that cannot be served.
    /// - Returns: whether all could be compiled.
    /// - Throws: if no cache is available to keep them in, or no model is found.
    package static func run(
        _ paths: [String], settings: Settings, output: (String) -> Void, complain: (String) -> Void
    ) async throws -> Bool {
        let places = paths.map { NamedModel(name: "", path: $0) }
        var settings = settings
        if !places.isEmpty { (settings.models, settings.model) = (places.flatMap(\.roots), []) }
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        guard let cache = plan.cacheDirectory, plan.isCacheWritable else {
            throw CommandError(
                settings.cacheDirectory.isEmpty
                    ? "cache_dir is empty: give the folder for compiled models with --cache-dir DIR"
                    : "cannot store compiled models: the folder \(plan.cacheDirectory ?? plan.unusableCache ?? "of cache_dir") cannot "
                        + "be created or written to (cache_dir)")
        }
        var entries = (places.isEmpty ? plan.named : places).flatMap { ModelRepository.entries(of: $0) }
        if places.isEmpty { entries += plan.folders.flatMap { ModelRepository.entries(of: NamedModel(at: $0)) } }
        guard !entries.isEmpty else { throw CommandError("no models in \(plan.places)") }
        var areAllGood = true, isAnyGood = false
        var seen: Set<String> = []
        for path in entries where seen.insert(path).inserted {
            do throws(InferenceError) {
                let model = try await Model.load(contentsOf: path, configuration: plan.servingConfiguration)
                let report = model.loadReport
                let how =
                    report.isCached
                    ? "was in the cache" : "compiled in \(Units.decimal(Double(report.total) / 1e6, places: 0)) ms"
                output("\(PrintableText.text(path)): \(how)")
                isAnyGood = true
            } catch {
                areAllGood = false
                complain("\(PrintableText.text(path)): \(error.message)")
            }
        }
        if isAnyGood { output("compiled models are in \(cache)") }
        return areAllGood
    }
}
