public import FlowControl
public import ImagePipeline
internal import SystemSupport

/// The reason a model could not be loaded or a prediction failed. Each case names the object, and the expected and
/// found values; InferenceService maps them to HTTP in one place.
public enum InferenceError: Error, Sendable {
    /// An input of a prediction is missing, of the wrong kind, type or shape. The client's mistake.
    case invalidInput(name: String, reason: String)
    /// The model does not support the request (for example classify without labels). The client's mistake.
    case unsupported(model: String, reason: String)
    /// The repository has no model of that name.
    case modelNotFound(name: String, known: [String])
    /// The model has no such version.
    case versionNotFound(name: String, version: String, known: [String])
    /// The model is known but cannot answer now; the reason tells whether waiting helps.
    case modelNotReady(name: String, reason: String)
    /// The bundle cannot be served; with all its problems.
    case invalidBundle(name: String, problems: [BundleProblem])
    /// The engine refused or failed: a defect of the model or of the machine, not of the request.
    case engine(EngineError)
    /// The model ran, but an output holds no numbers where the answer needs them: a defect of the model.
    case invalidOutput(name: String, reason: String)
    /// The picture cannot be used; with the name of the input, if known.
    case image(ImageError, input: String? = nil)
    /// The model is busy, or the deadline has passed.
    case refused(AdmissionError)
    /// The deadline passed after the request got a slot; with the stage that was stopped.
    case deadlineExceeded(stage: Stage)
    /// The caller cancelled the request; with the stage that was stopped.
    case cancelled(stage: Stage)

    /// The stages of a prediction that can be cancelled.
    public enum Stage: String, Sendable, CaseIterable {
        case load, queue, decode, inference, postprocess
    }

    /// True if no more threads could be started for the model: it could be loaded if other models were unloaded.
    package var isOutOfThreads: Bool {
        if case .engine(let error) = self { return error.kind == .noThreads }
        return false
    }

    /// The maximum number of names that a misspelt one is compared with: requests of unknown models must cost little.
    private static let maximumCompared = 200

    /// A message for the user.
    public var message: String {
        switch self {
        case .invalidInput(let name, let reason): "input \"\(name)\": \(reason)"
        case .unsupported(let model, let reason): "model \"\(model)\" \(reason)"
        case .modelNotFound(let name, let known):
            "unknown model \"\(name)\"\(Spelling.hint(for: name, among: known.prefix(Self.maximumCompared))); "
                + (known.isEmpty ? "no model is loaded" : "available: \(known.listed)")
        case .versionNotFound(let name, let version, let known):
            "model \"\(name)\" has no version \"\(version)\"; available: \(known.listed)"
        case .modelNotReady(let name, let reason): "model \"\(name)\" is not ready: \(reason)"
        case .invalidBundle(let name, let problems):
            "bundle \"\(name)\" cannot be served: " + problems.map(\.description).joined(separator: "; ")
        case .engine(let error): error.message
        case .invalidOutput(let name, let reason): "the model's output \"\(name)\" is invalid: \(reason)"
        case .image(let error, _): error.message
        case .refused(let error): error.message
        case .deadlineExceeded(let stage):
            switch stage {
            case .load: "the request's deadline passed while its model was loaded"
            case .queue: "the request's deadline passed while it waited for an infer request"
            case .decode: "the request's deadline passed while its picture was decoded"
            case .inference: "the request's deadline passed while the model ran"
            case .postprocess: "the request's deadline passed while the model's answer was read"
            }
        case .cancelled(let stage): "the request was cancelled (\(stage.rawValue))"
        }
    }
}

extension InferenceError: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}
