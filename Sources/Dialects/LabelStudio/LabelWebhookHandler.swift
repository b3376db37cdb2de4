package import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import ServiceCore
internal import Settings
internal import SystemSupport
package import Tasks
internal import Teaching
package import WireFormats

/// Answers `POST /webhook` of Label Studio: annotations teach the taught models that the label config names, and
/// deleted ones are forgotten.
package struct LabelWebhookHandler: CallHandler {
    private let call: Call
    private let taught: TaughtModels

    package init(_ call: Call) throws(ServiceError) {
        taught = try call.taughtModels()
        self.call = call
    }

    package func respond(to request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        try request.head.refuseContentCodings()
        let body = try await call.read(request) { () throws(ServiceError) in try LabelBody(request.body) }
        switch body.action {
        case "ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED":
            return try await annotated(body, request)
        case "ANNOTATIONS_DELETED", "ANNOTATION_DELETED":
            let ids = Set(body.annotations.compactMap(\.id))
            let models = try await call.computed(request) { () throws(ServiceError) in holders(of: ids, body) }
            let forgotten = try await forget(ids, of: models, request)
            return LabelSetupHandler.json { $0.member("forgotten", forgotten) }
        // Other events concern nothing that was learned.
        default: return LabelSetupHandler.json { $0.member("taught", 0) }
        }
    }

    // MARK: Teaching

    private func annotated(_ body: LabelBody, _ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        let controls = try body.config().controls.filter { $0.kind == .choices && $0.model != nil }
        guard !controls.isEmpty else {
            throw ServiceError(
                .notFound,
                "the label config names no taught model: give its Choices the attribute model_path=\"NAME\"; /v1/taught lists the "
                    + "taught models")
        }
        var count = 0
        for (index, annotation) in body.annotations.enumerated() {
            let task = body.tasks.first { $0.id != nil && $0.id == annotation.task }
            let own = task ?? (body.tasks.indices.contains(index) ? body.tasks[index] : nil)
            for control in controls {
                let model = try taught.find(control.model ?? "")
                if try await teach(annotation, of: own, control, to: model, request) { count += 1 }
            }
        }
        return LabelSetupHandler.json(count > 0 ? .created : .ok) { $0.member("taught", count) }
    }

    /// Teaches the choice of an annotation, and forgets its earlier one.
    /// - Returns: whether it teaches something: exactly one choice, in a task that was not skipped.
    private func teach(
        _ annotation: LabelBody.Annotation, of task: LabelBody.Task?, _ control: LabelConfig.Control,
        to model: TaughtModel, _ request: HTTPRequest
    ) async throws(ServiceError) -> Bool {
        let choices = annotation.isSkipped ? [] : annotation.choices[control.name] ?? []
        guard choices.count == 1, let choice = choices.first, let task else {
            if let id = annotation.id { _ = try await forget([id], of: [model], request) }
            return false
        }
        let label = try TeachQuery.checked(
            LabelNames.taughtClass(choice, of: control, classes: model.view.classes.map { $0.label }))
        var options = PredictionOptions()
        options.claim = call.claim
        options.deadline = call.deadline(of: request)
        let image = try await image(of: task, control, request)
        let outcome = try await ExampleTeacher(call, taught, model, options: options).teach(image, label: label) {
            known, label in Self.name(annotation.id, known, label)
        }
        // The task may have had another picture when the annotation was made.
        if let id = annotation.id { _ = try await forget([id], of: [model], request, except: outcome.id) }
        return true
    }

    private func image(
        of task: LabelBody.Task, _ control: LabelConfig.Control, _ request: HTTPRequest
    ) async throws(ServiceError) -> EncodedImage {
        let body = request.body, settings = call.live.settings
        let files = LocalFiles(folder: settings.labelStudioFiles, maximum: settings.maxBody)
        let found = try await call.parts.work.run(
            for: call.claim, until: call.deadline(of: request), lowPriority: false
        ) { (_) throws(ServiceError) in
            Result { () throws(InferenceError) in
                try LabelPicture(task.texts[control.member], member: control.member, in: body, files)
            }
        }
        do throws(InferenceError) {
            return try await found.get().image()
        } catch {
            throw ServiceError(error)
        }
    }

    /// The name of an example that an annotation teaches; nil to keep the one that it has, of an example that was
    /// taught otherwise with the same label.
    private static func name(_ id: Int?, _ known: Example?, _ label: String) -> String? {
        guard let id else { return nil }
        guard let known, known.label == label else { return AnnotationName(id).text }
        return known.name.flatMap { AnnotationName($0) }?.adding(id).text
    }

    // MARK: Forgetting

    /// The taught models with examples of some annotations: those that the label config names, if it can be read.
    private func holders(of ids: Set<Int>, _ body: LabelBody) -> [TaughtModel] {
        let named = (try? body.config())?.controls.compactMap(\.model) ?? []
        let models = taught.store.all.filter { named.isEmpty || named.contains($0.name) }
        return models.filter { model in
            model.view.state.examples.contains { example in
                example.name.flatMap { AnnotationName($0) }.map { !ids.isDisjoint(with: $0.ids) } ?? false
            }
        }
    }

    /// Forgets what annotations taught. An example stays that another annotation teaches, too.
    /// - Parameter kept: an example that stays as it is.
    /// - Returns: the number of examples that were forgotten.
    private func forget(
        _ ids: Set<Int>, of models: [TaughtModel], _ request: HTTPRequest, except kept: ExampleID? = nil
    ) async throws(ServiceError) -> Int {
        let pictures = call.parts.kept
        var forgotten = 0
        for model in models {
            forgotten += try await taught.changeNames(
                of: model, "annotations forgotten", deadline: call.deadline(of: request), claim: call.claim
            ) { example, name in
                guard example.id != kept, let name = AnnotationName(name) else { return .kept }
                guard let rest = name.removing(ids) else { return .forgotten }
                return rest == name ? .kept : .renamed(rest.text)
            } forgetting: { (gone) throws(TeachingError) in
                try pictures?.forget(gone)
            }
        }
        return forgotten
    }
}
