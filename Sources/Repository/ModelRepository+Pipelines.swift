internal import Bundles
internal import EngineAPI
internal import Inference
internal import SystemSupport

/// Pipelines and their models stay together: a pipeline keeps the models that it was loaded with, and is loaded again,
/// as a whole, when one of them is replaced.
extension ModelRepository {
    /// Loads a pipeline from the models that are served; those that are not ready are loaded first.
    func loadPipeline(
        _ item: ModelVersion, _ configuration: ModelConfiguration
    ) async -> Result<Model, InferenceError> {
        do throws(InferenceError) {
            return .success(try await pipeline(item, configuration))
        } catch {
            return .failure(error)
        }
    }

    private func pipeline(_ item: ModelVersion, _ configuration: ModelConfiguration) async throws(InferenceError)
        -> Model
    {
        let start = MonotonicInstant.now
        let (path, name) = (item.path, item.name)
        let read: @Sendable () -> Result<(ModelBundle, advice: String?), InferenceError> = {
            Result { () throws(InferenceError) in
                let bundle = try ModelBundle(path: path, name: name, links: configuration.links)
                return (bundle, bundle.adviceOnNumberedFolders)
            }
        }
        let (bundle, advice) = try await LoaderThread.run(read).get()
        guard let description = bundle.manifest?.pipeline else {
            // It was a pipeline when the folders were scanned.
            return try await Model.load(
                contentsOf: path, name: name, configuration: configuration, version: item.numbered)
        }
        let problems = ProblemList()
        let (models, taught) = await models(of: description, name: name, problems: problems)
        guard let pipeline = Pipeline(description, models: models, taught: taught, problems: problems) else {
            throw .invalidBundle(name: name, problems: problems.problems)
        }
        var report = LoadReport()
        report.read = MonotonicInstant.now.nanoseconds(since: start)
        report.fileBytes = bundle.stamp.bytes
        report.device = pipeline.detector.loadReport.device
        report.execution = pipeline.detector.loadReport.execution
        report.undecided = bundle.manifest?.undecided ?? []
        if let advice { report.advice.append(advice) }
        let model = Model(
            pipeline, bundle: bundle, version: item.numbered, configuration: configuration, loadReport: report)
        if configuration.comparesGoldens { try await model.checkGoldens(bundle.manifest?.goldenAgreement) }
        return model
    }

    /// The models that a pipeline names, ready; each missing one is reported as a problem at every place that names it.
    /// - Returns: the models by name, and the names of missing ones that taught models have or may get.
    private func models(
        of description: PipelineDescription, name: String, problems: ProblemList
    ) async -> (models: [String: Model], taught: Set<String>) {
        let places =
            [("pipeline.model", description.model)] + description.allStages.map { ("\($0.path).model", $0.model) }
        let namesOfTaught = allowsTaughtStages ? description.namesOfTaughtModels : []
        var models: [String: Model] = [:], taught: [String: String] = [:]
        for wanted in description.models.sorted() where !wanted.isEmpty {
            var reason = ""
            if wanted == name {
                reason = "is the pipeline itself: a stage runs a model"
            } else if versions(of: wanted).contains(where: { !$0.facts.pipelineModels.isEmpty }) {
                // Checked before waiting for it: that pipeline may wait for this one.
                reason = "\"\(wanted)\" is a pipeline itself: stages run models"
            } else {
                do throws(InferenceError) {
                    models[wanted] = try await model(named: wanted)
                } catch {
                    if case .modelNotFound = error, namesOfTaught.contains(wanted) {
                        taught[wanted] = error.message
                    } else if isReserved(wanted) {
                        reason =
                            "\"\(wanted)\" is a taught model, which answers stages with the task \"classify\" alone"
                    } else {
                        reason = error.message
                    }
                }
            }
            guard !reason.isEmpty else { continue }
            for place in places where place.1 == wanted { problems.add(place.0, reason) }
        }
        // A pipeline that is not served anyway may have misspelt these names too.
        if !problems.problems.isEmpty {
            for place in places { if let reason = taught[place.1] { problems.add(place.0, reason) } }
        }
        return (models, Set(taught.keys))
    }

    /// Reloads the pipelines whose models have been replaced, and those that wait for a model.
    /// - Parameter names: whether to consider a pipeline of these models.
    func renewPipelines(_ names: (Set<String>) -> Bool) async {
        for item in allVersions where names(item.facts.pipelineModels) && !item.facts.pipelineModels.isEmpty {
            if let awaited = item.awaitedModel, (try? readyModel(named: awaited)) != nil {
                item.awaitedModel = nil
                // A request may have loaded it already.
                guard item.readyModel != nil else {
                    _ = try? await load(item, again: true, bringsBack: true)
                    continue
                }
            }
            let isWanted =
                item.readyModel != nil || item.isLoading
                || item.policy == .eager && !item.isManuallyUnloaded
                    && versionsToLoad(of: item.name).contains { $0 === item }
            guard isWanted, item.unreadable == nil, await item.isCurrent == false else { continue }
            // A failure is reported as an event; the previous model keeps serving.
            _ = try? await load(item, again: true)
        }
    }

    /// Unloads the pipelines that run a model which is no longer served, to free the model's memory or to stop its
    /// wrong answers. They are loaded again with the model.
    /// - Parameters:
    ///   - model: only the pipelines that keep this model; nil for all.
    ///   - unloadsManually: whether requests for them must not load them again; if false, such requests wait for the
    ///     model.
    ///   - why: the reason the model is not served.
    func unloadPipelines(of name: String, keeping model: Model? = nil, unloadsManually: Bool, because why: String) {
        for item in allVersions where item.facts.pipelineModels.contains(name) {
            guard let pipeline = item.readyModel?.pipeline, model.map(pipeline.keeps) ?? true else { continue }
            guard item.unload(unloadsManually: unloadsManually) else { continue }
            item.awaitedModel = name
            onEvent(.unloaded(name: item.name, version: item.version, why: "its model \(name) \(why)"))
        }
    }
}
