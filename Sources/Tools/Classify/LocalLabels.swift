internal import Inference
internal import SystemSupport

/// The labels of `ocelli classify --labels`, for a model that embeds pictures and texts.
package struct LocalLabels: Sendable {
    /// Labels with commas between them, which are not trimmed.
    package var list: String?
    /// Single labels, which may have commas.
    package var single: [String] = []
    /// The text around each label.
    package var prompt: String?

    package init() {}

    /// True if there are neither labels nor a prompt.
    package var isEmpty: Bool { all.isEmpty && prompt == nil }

    private var all: [String] {
        (list.map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) } ?? []) + single
    }

    /// The first mistake, as a sentence that names the flag; nil without a mistake.
    package var mistake: String? {
        if let prompt, Prompt(prompt) == nil {
            return "--prompt: expected \(Prompt.expected), found \"\(prompt.prefix(60))\""
        }
        guard !all.isEmpty, let mistake = LabelList.mistake(in: all) else { return nil }
        return "--labels, --label: \(mistake)"
    }

    /// The facts by which runs with other labels differ; empty without labels, so that lines of earlier versions can be
    /// resumed.
    var facts: [String] { isEmpty ? [] : ["labels \(all.count)"] + all + [prompt ?? ""] }

    /// True if a model can classify by these labels, or by its own in this prompt.
    func fit(_ model: Model) -> Bool { model.takesLabels && !labels(for: model).isEmpty }

    private func labels(for model: Model) -> [String] {
        all.isEmpty ? model.words?.description.zeroShot.labels ?? [] : all
    }

    /// The labels as classes of a model; nil without labels: the model's own count then.
    func classes(of model: Model, named name: String) async throws -> LabelClasses? {
        guard !isEmpty else { return nil }
        if let refusal = model.refusalOfLabels { throw CommandError(refusal.message) }
        let labels = labels(for: model)
        guard !labels.isEmpty else {
            throw CommandError(
                "--prompt goes around labels, and model \"\(name)\" has none of its own: give --labels A,B too")
        }
        do throws(InferenceError) {
            return try await model.classes(of: labels, prompts: prompt.flatMap { Prompt($0) }.map { [$0] })
        } catch {
            throw CommandError(error.message)
        }
    }
}
