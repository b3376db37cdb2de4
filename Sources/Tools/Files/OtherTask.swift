internal import Inference
internal import SystemSupport

/// Advice for a command with a model that answers another task.
enum OtherTask {
    /// The commands that a model answers, as text to append to an error.
    /// - Parameter requested: the model's name or path on the command line; nil for the default one.
    static func advice(_ model: Model, requested: String?) -> String {
        let isClassifier = model.description.classLabels != nil && model.description.imageInput != nil
        let commands = (isClassifier ? ["classify"] : []) + model.tasks.map(\.rawValue)
        guard let first = commands.first else { return "; \(model.abilities)" }
        let flag = requested.map { $0.isEmpty ? "" : "--model \(ShellWord.quoted($0)) " } ?? ""
        return "; it answers \(commands.joined(separator: ", ")): ocelli \(first) \(flag)PICTURE"
    }
}
