internal import HTTPWire
internal import ImagePipeline
internal import Inference
internal import JSON
internal import Settings

/// The query of a request to `detect`, `segment`, `keypoints` or `embed`.
struct ObservationQuery: Sendable {
    /// What is asked of the model.
    var request: ObservationRequest
    var crop: CropAndScale?
    var ignoresOrientation = false
    var timeoutMilliseconds: Int?
    /// How masks are written; nil is the route's own way.
    var mask: ObservationWriter.MaskForm?
    /// How an embedding is written.
    var encoding = ObservationWriter.Encoding.float

    /// Reads the query; a parameter that is not known, or whose value does not fit, is refused by name.
    init(_ target: RequestTarget, task: ObservationTask, settings: Settings) throws(ServiceError) {
        request = ObservationRequest(task: task)
        for (name, value) in target.queryItems() {
            switch name {
            case "threshold": request.threshold = try Self.share(name, value)
            case "iou": request.iou = try Self.share(name, value)
            case "top":
                guard let count = Int(value), count >= 1 else {
                    throw Self.mistake(name, "a whole number of 1 or more", value)
                }
                request.top = count
            case "classes":
                let classes = value.split(separator: ",").map { String($0.drop { $0 == " " }) }
                guard (1...1_000).contains(classes.count) else {
                    throw Self.mistake(name, "labels or numbers of 1 to 1000 classes, with commas between them", value)
                }
                request.classes = classes
            case "crop": crop = try Self.choice(name, value)
            case "orientation":
                guard value == "ignore" || value == "apply" else {
                    throw Self.mistake(name, "one of \"apply\", \"ignore\"", value)
                }
                ignoresOrientation = value == "ignore"
            case "timeout_ms":
                let longest = Int(settings.maxDeadline * 1000)
                guard let time = Int(value), time >= 1, time <= longest else {
                    throw Self.mistake(name, "a whole number of milliseconds from 1 to \(longest)", value)
                }
                timeoutMilliseconds = time
            case "mask" where task == .detect || task == .segment: mask = try Self.choice(name, value)
            case "encoding" where task == .embed: encoding = try Self.choice(name, value)
            default: throw Self.unknown(name, task)
            }
        }
    }

    private static func unknown(_ name: String, _ task: ObservationTask) -> ServiceError {
        var known = ["threshold", "iou", "top", "classes", "crop", "orientation", "timeout_ms"]
        switch task {
        case .detect, .segment: known.append("mask")
        case .embed: known.append("encoding")
        case .keypoints: break
        }
        let hint = Spelling.hint(for: name, among: known)
        return ServiceError.badRequest(
            "query parameter \"\(name.prefix(60))\" is unknown\(hint); expected one of " + known.joined(separator: ", ")
        )
    }

    private static func share(_ name: String, _ value: String) throws(ServiceError) -> Float {
        guard let number = Float(value), (0...1).contains(number) else {
            throw mistake(name, "a number from 0 to 1", value)
        }
        return number
    }

    private static func choice<T: RawRepresentable & CaseIterable>(
        _ name: String, _ value: String
    ) throws(ServiceError) -> T where T.RawValue == String {
        guard let choice = T(rawValue: value) else {
            throw mistake(name, "one of " + T.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", "), value)
        }
        return choice
    }

    private static func mistake(_ name: String, _ expected: String, _ value: String) -> ServiceError {
        ServiceError.badRequest("query parameter \"\(name)\": expected \(expected), found \"\(value.prefix(60))\"")
    }
}
