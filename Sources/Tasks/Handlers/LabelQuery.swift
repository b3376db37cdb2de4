package import Inference
internal import JSON
internal import ServiceCore
internal import WireFormats

/// The labels that a request brings, and the prompt around them.
package struct LabelQuery: Sendable {
    /// The labels; empty if the request brings none.
    package private(set) var labels: [String] = []
    /// The prompt; nil for the model's own.
    package private(set) var prompt: Prompt?

    /// The names of the parameters, and that of the parts of a form that may repeat.
    static let names = ["labels", "prompt"], part = "label"

    /// No labels.
    package init() {}

    /// True if the request brings neither labels nor a prompt.
    package var isEmpty: Bool { labels.isEmpty && prompt == nil }

    /// Takes a parameter; false for other parameters.
    mutating func take(_ parameter: RequestParameter) throws(ServiceError) -> Bool {
        switch parameter.name {
        case "labels":
            let parts = parameter.value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            if let index = parts.firstIndex(where: Self.isDamaged) {
                throw .badRequest("\(parameter.place) \"labels\": label \(index + 1) is not UTF-8")
            }
            labels = try Self.checked(parts, parameter.place + " \"labels\"")
        case "prompt":
            guard let prompt = Prompt(parameter.value), !Self.isDamaged(parameter.value) else {
                throw parameter.mistake(Prompt.expected)
            }
            self.prompt = prompt
        default: return false
        }
        return true
    }

    /// Takes the parts `label` of a form; labels of the query win.
    mutating func take(parts: [String]) throws(ServiceError) {
        guard labels.isEmpty, !parts.isEmpty else { return }
        labels = try Self.checked(parts, "form fields \"label\"")
    }

    private static func checked(_ labels: [String], _ place: String) throws(ServiceError) -> [String] {
        if let mistake = LabelList.mistake(in: labels) { throw .badRequest("\(place): \(mistake)") }
        return labels
    }

    /// True if a text has bytes that were not UTF-8.
    private static func isDamaged(_ text: String) -> Bool { text.unicodeScalars.contains("\u{FFFD}") }

    /// The labels as classes of a model; nil if the request brings neither labels nor a prompt.
    /// - Throws: `unsupported` if the model takes no labels.
    package func classes(of model: Model, options: PredictionOptions) async throws(InferenceError) -> LabelClasses? {
        guard !isEmpty else { return nil }
        return try await model.classes(
            of: labels(for: model), prompts: prompt.map { [$0] }, options: options)
    }

    /// The labels of the request, else those of the model, which a prompt of the request is put around.
    package func labels(for model: Model) -> [String] {
        labels.isEmpty ? model.words?.description.zeroShot.labels ?? [] : labels
    }

    /// Refuses a model that cannot classify by labels, or a prompt without labels.
    func check(_ run: ModelRequest) throws(ServiceError) {
        guard !isEmpty else { return }
        guard run.taught == nil else {
            throw .invalidInput(
                "model \"\(run.name)\" is a taught model, which has classes of its own: leave out \"labels\" and \"prompt\""
            )
        }
        if let refusal = run.model.refusalOfLabels { throw ServiceError(refusal) }
        guard !labels(for: run.model).isEmpty else {
            throw .badRequest("\"prompt\" goes around labels: \(Self.advice(run.name))")
        }
    }

    /// The way to give labels.
    static func advice(_ name: String) -> String {
        "give the labels, as in /v1/models/\(name)/classify?labels=a+cat,a+dog, or in a form with a part \"label\" for each"
    }
}
