package import HTTPWire
package import ImagePipeline
internal import Inference
internal import JSON
package import Settings

/// The query of a `classify` request.
package struct ClassifyQuery: Sendable {
    /// How many classes the answer has; nil where the request does not say.
    package var top: Int?
    /// The minimum confidence of a class in the answer.
    package var threshold: Float = 0
    package var crop: CropAndScale?
    package var ignoresOrientation = false
    package var timeoutMilliseconds: Int?
    /// Asks for what the model would see instead of for labels.
    package var explain: Explanation?

    /// The forms in which a tensor is shown.
    package enum Explanation: String, Sendable, CaseIterable {
        /// JSON: the steps, and the tensor as PNG and NPY.
        case preprocess
        /// The tensor as a picture.
        case png
        /// The tensor as NumPy's file.
        case npy
    }

    /// Reads the query; a parameter that is not known, or whose value does not fit, is refused by name.
    package init(_ target: RequestTarget, settings: Settings) throws(ServiceError) {
        for (name, value) in target.queryItems() {
            switch name {
            case "top":
                guard let count = Int(value), count >= 1 else {
                    throw Self.mistake(name, "a whole number of 1 or more", value)
                }
                top = count
            case "threshold":
                guard let number = Float(value), (0...1).contains(number) else {
                    throw Self.mistake(name, "a number from 0 to 1", value)
                }
                threshold = number
            case "crop":
                guard let option = CropAndScale(rawValue: value) else {
                    throw Self.mistake(name, "one of \"center\", \"fit\", \"fill\"", value)
                }
                crop = option
            case "orientation":
                guard value == "ignore" || value == "apply" else {
                    throw Self.mistake(name, "one of \"apply\", \"ignore\"", value)
                }
                ignoresOrientation = value == "ignore"
            case "explain":
                guard let form = Explanation(rawValue: value) else {
                    throw Self.mistake(name, "one of \"preprocess\", \"png\", \"npy\"", value)
                }
                explain = form
            case "timeout_ms":
                let longest = Int(settings.maxDeadline * 1000)
                guard let time = Int(value), time >= 1, time <= longest else {
                    throw Self.mistake(name, "a whole number of milliseconds from 1 to \(longest)", value)
                }
                timeoutMilliseconds = time
            default:
                let known = ["top", "threshold", "crop", "orientation", "timeout_ms", "explain"]
                let hint = Spelling.hint(for: name, among: known)
                throw ServiceError(
                    .badRequest, "bad_request",
                    "query parameter \"\(name.prefix(60))\" is unknown\(hint); expected one of "
                        + known.joined(separator: ", "))
            }
        }
    }

    private static func mistake(_ name: String, _ expected: String, _ value: String) -> ServiceError {
        ServiceError(
            .badRequest, "bad_request",
            "query parameter \"\(name)\": expected \(expected), found \"\(value.prefix(60))\"")
    }
}
