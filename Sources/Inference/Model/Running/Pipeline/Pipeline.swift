internal import Observations
internal import Synchronization
internal import Teaching

/// A pipeline and the models that it runs. It keeps the models, so that a request uses one version of each in all
/// stages.
package final class Pipeline: Sendable {
    package let description: PipelineDescription
    /// The detector.
    package let detector: Model
    /// The stages that run for each detection.
    package let stages: [Stage]

    /// The names of the taught models that answer stages. They change apart from the pipeline, so each request looks
    /// them up (``TaughtStages``).
    package let taughtNames: Set<String>

    /// A stage with its model.
    package struct Stage: Sendable {
        package let description: PipelineDescription.Stage
        /// Nil for a taught model.
        package let model: Model?
        /// The stages that run for each of its own detections.
        package let each: [Stage]
    }

    /// Checks the stages against the models; each error is added to the problems with its path.
    /// - Parameters:
    ///   - models: by name; a problem has already been added for each missing model.
    ///   - taught: the names that taught models have or can get.
    package init?(
        _ description: PipelineDescription, models: [String: Model], taught: Set<String> = [], problems: ProblemList
    ) {
        for (name, model) in models where model.pipeline != nil {
            let places = description.allStages.filter { $0.model == name }.map(\.path)
            for place in (description.model == name ? ["pipeline"] : []) + places {
                problems.add("\(place).model", "\"\(name)\" is a pipeline itself: stages run models")
            }
        }
        let check = PipelineCheck(problems: problems)
        guard let detector = models[description.model] else { return nil }
        check.detector(detector, description)
        let stages = Self.stages(description.each, of: detector, models: models, taught: taught, check)
        guard problems.problems.isEmpty else { return nil }
        self.description = description
        taughtNames = taught
        self.detector = detector
        self.stages = stages
        for model in self.models { model.pipelines.wrappingAdd(1, ordering: .relaxed) }
    }

    deinit {
        for model in self.models { model.pipelines.wrappingSubtract(1, ordering: .relaxed) }
    }

    private static func stages(
        _ descriptions: [PipelineDescription.Stage], of parent: Model, models: [String: Model], taught: Set<String>,
        _ check: PipelineCheck
    ) -> [Stage] {
        descriptions.compactMap { stage in
            guard let model = models[stage.model] else {
                guard taught.contains(stage.model) else { return nil }
                check.taughtStage(stage, of: parent)
                return Stage(description: stage, model: nil, each: [])
            }
            check.stage(stage, model, of: parent)
            return Stage(
                description: stage, model: model,
                each: Self.stages(stage.each, of: model, models: models, taught: taught, check))
        }
    }

    /// All models that it keeps, one for each place that names one of them.
    package var models: [Model] { [detector] + allStages.compactMap(\.model) }

    /// True if it runs this model.
    package func keeps(_ model: Model) -> Bool { models.contains { $0 === model } }

    /// The stages of all levels, each before its nested stages.
    package var allStages: [Stage] {
        func all(_ stages: [Stage]) -> [Stage] { stages.flatMap { [$0] + all($0.each) } }
        return all(stages)
    }

    /// The stages from the first level to the one with this name; nil if no stage has it.
    package func way(to name: String) -> [Stage]? {
        func way(_ stages: [Stage]) -> [Stage]? {
            for stage in stages {
                if stage.description.name == name { return [stage] }
                if let rest = way(stage.each) { return [stage] + rest }
            }
            return nil
        }
        return way(stages)
    }

    /// The names of all models, each once, the detector's first.
    package var modelNames: [String] {
        var names: Set<String> = []
        return ([description.model] + allStages.map(\.description.model)).filter { names.insert($0).inserted }
    }
}

/// Checks that a pipeline's models fit its description.
struct PipelineCheck {
    let problems: ProblemList

    func detector(_ model: Model, _ pipeline: PipelineDescription) {
        guard model.tasks.contains(.detect) else {
            problems.add("pipeline.model", "\"\(pipeline.model)\" does not give boxes: \(model.abilities)")
            return
        }
        labels(pipeline.classes, of: model, at: "pipeline.classes")
    }

    func stage(_ stage: PipelineDescription.Stage, _ model: Model, of parent: Model) {
        switch stage.task.observation {
        case nil:
            guard model.isImageClassifier else {
                problems.add("\(stage.path).task", "\"\(stage.model)\" does not classify pictures: \(model.abilities)")
                break
            }
            let count = model.description.classLabels?.count ?? 0
            if let top = stage.top, top > count {
                problems.add(
                    "\(stage.path).top", "expected 1 to \(count), the classes of \"\(stage.model)\", found \(top)")
            }
        case let task?:
            if !model.tasks.contains(task) {
                problems.add("\(stage.path).task", "\"\(stage.model)\" does not give \(task.gives): \(model.abilities)")
            }
        }
        finds(stage, of: parent)
    }

    /// Checks a stage with a taught model. Its classes change apart from the pipeline.
    func taughtStage(_ stage: PipelineDescription.Stage, of parent: Model) {
        do throws(TeachingError) { try TaughtNames.check(name: stage.model) } catch {
            problems.add("\(stage.path).model", error.message)
        }
        finds(stage, of: parent)
    }

    /// Checks that a stage fits the detections that it runs on.
    private func finds(_ stage: PipelineDescription.Stage, of parent: Model) {
        labels(stage.classes, of: parent, at: "\(stage.path).classes")
        guard case .boxes(let boxes)? = parent.observationOutput(for: .detect)?.kind else { return }
        if stage.crop.alignment == .box, !boxes.decoding.hasAngles {
            problems.add(
                "\(stage.path).crop.align",
                "\"box\" needs finds with turned boxes: \"\(parent.description.name)\" gives upright ones")
        }
        if stage.crop.alignment == .fivePoints {
            let count = boxes.keypoints?.skeleton.names.count ?? 0
            if count != 5 {
                problems.add(
                    "\(stage.path).crop.align",
                    "\"five_points\" needs finds with five points: eyes, nose, corners of the mouth; \"\(parent.description.name)\" gives \(count)"
                )
            }
        }
        if stage.crop.isMasked, boxes.masks == nil {
            problems.add("\(stage.path).crop.mask", "needs finds with masks: \"\(parent.description.name)\" gives none")
        }
    }

    private func labels(_ classes: [String]?, of model: Model, at path: String) {
        guard let classes else { return }
        var request = ObservationRequest(task: .detect)
        for (index, name) in classes.enumerated() {
            request.classes = [name]
            guard case .invalidInput(_, let reason)? = model.refusal(of: request) else { continue }
            problems.add("\(path)[\(index)]", reason)
        }
    }
}
