internal import HTTPServer
internal import HTTPWire
internal import ImagePipeline
internal import Inference
internal import JSON
internal import Settings

/// The query of a request to `detect`, `segment`, `keypoints` or `embed`.
struct ObservationQuery: Sendable {
    /// The request to the model.
    var request: ObservationRequest
    var crop: CropAndScale?
    var ignoresOrientation = false
    var timeoutMilliseconds: Int?
    /// The form of masks; nil is the route's own form.
    var mask: ObservationWriter.MaskForm?
    /// The encoding of an embedding.
    var encoding = ObservationWriter.Encoding.float

    /// Reads the query; a parameter that is not known, or whose value does not fit, is refused by name.
    /// - Parameter form: the parameters of a form's text parts; the query wins.
    init(
        _ target: RequestTarget, form: [(name: String, value: String)] = [], task: ObservationTask, settings: Settings
    ) throws(ServiceError) {
        request = ObservationRequest(task: task)
        for parameter in try RequestParameter.all(target, form: form) {
            let name = parameter.name, value = parameter.value
            switch name {
            case "threshold": request.threshold = try parameter.share()
            case "iou": request.iou = try parameter.share()
            case "top":
                guard let count = Int(value), count >= 1 else {
                    throw parameter.mistake("a whole number of 1 or more")
                }
                request.top = count
            case "classes":
                let classes = ObservationRequest.classes(in: value)
                guard (1...1_000).contains(classes.count) else {
                    throw parameter.mistake("labels or numbers of 1 to 1000 classes, separated by commas")
                }
                request.classes = classes
            case "crop": crop = try Self.choice(parameter)
            case "orientation":
                guard value == "ignore" || value == "apply" else {
                    throw parameter.mistake("one of \"apply\", \"ignore\"")
                }
                ignoresOrientation = value == "ignore"
            case "timeout_ms":
                let longest = Int(settings.maxDeadline * 1000)
                guard let time = Int(value), time >= 1, time <= longest else {
                    throw parameter.mistake("a whole number of milliseconds from 1 to \(longest)")
                }
                timeoutMilliseconds = time
            case "mask" where task == .segment: mask = try Self.choice(parameter)
            case "mask" where task == .detect:
                mask = try Self.choice(parameter)
                // A detection's mask is run lengths; one picture of classes cannot have those that overlap.
                guard mask != .png else { throw parameter.mistake("one of \"rle\", \"none\"") }
            case "encoding" where task == .embed: encoding = try Self.choice(parameter)
            default: throw Self.unknown(parameter, task)
            }
        }
    }

    /// The query with the parameters of a form beside it; the query wins.
    func adding(
        _ form: [(name: String, value: String)]?, of message: HTTPRequest, settings: Settings
    ) throws(ServiceError) -> Self {
        guard let form, !form.isEmpty else { return self }
        return try Self(message.head.target, form: form, task: request.task, settings: settings)
    }

    /// The names of the parameters of a task.
    static func names(_ task: ObservationTask) -> [String] {
        let known = ["threshold", "iou", "top", "classes", "crop", "orientation", "timeout_ms"]
        return switch task {
        case .detect, .segment: known + ["mask"]
        case .embed: known + ["encoding"]
        case .keypoints: known
        }
    }

    private static func unknown(_ parameter: RequestParameter, _ task: ObservationTask) -> ServiceError {
        let known = names(task)
        let hint = Spelling.hint(for: parameter.name, among: known)
        return .badRequest(
            "unknown \(parameter.place) \"\(parameter.name.prefix(60))\"\(hint); known: "
                + known.joined(separator: ", "))
    }

    private static func choice<T: RawRepresentable & CaseIterable>(
        _ parameter: RequestParameter
    ) throws(ServiceError) -> T where T.RawValue == String {
        guard let choice = T(rawValue: parameter.value) else {
            throw parameter.mistake("one of " + T.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", "))
        }
        return choice
    }
}
