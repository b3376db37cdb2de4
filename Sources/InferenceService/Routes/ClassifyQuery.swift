internal import HTTPServer
package import HTTPWire
package import ImagePipeline
internal import Inference
internal import JSON
package import Settings

/// The query of a `classify` request.
package struct ClassifyQuery: Sendable {
    /// The number of classes that the answer has; nil if the request does not say.
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

    /// True if the request says what the least confidence is.
    package var hasThreshold = false

    /// The names of the parameters.
    static let names = ["top", "threshold", "crop", "orientation", "timeout_ms", "explain"]

    /// Reads the query; a parameter that is not known, or whose value does not fit, is refused by name.
    /// - Parameter form: the parameters of a form's text parts; the query wins.
    package init(
        _ target: RequestTarget, form: [(name: String, value: String)] = [], settings: Settings
    ) throws(ServiceError) {
        for parameter in try RequestParameter.all(target, form: form) { try take(parameter, settings: settings) }
    }

    /// The query with the parameters of a form beside it; the query wins.
    func adding(
        _ form: [(name: String, value: String)]?, of message: HTTPRequest, settings: Settings
    ) throws(ServiceError) -> Self {
        guard let form, !form.isEmpty else { return self }
        return try Self(message.head.target, form: form, settings: settings)
    }

    private mutating func take(_ parameter: RequestParameter, settings: Settings) throws(ServiceError) {
        let name = parameter.name, value = parameter.value
        switch name {
        case "top":
            guard let count = Int(value), count >= 1 else {
                throw parameter.mistake("a whole number of 1 or more")
            }
            top = count
        case "threshold":
            threshold = try parameter.share()
            hasThreshold = true
        case "crop":
            guard let option = CropAndScale(rawValue: value) else {
                throw parameter.mistake("one of \"center\", \"fit\", \"fill\"")
            }
            crop = option
        case "orientation":
            guard value == "ignore" || value == "apply" else {
                throw parameter.mistake("one of \"apply\", \"ignore\"")
            }
            ignoresOrientation = value == "ignore"
        case "explain":
            guard let form = Explanation(rawValue: value) else {
                throw parameter.mistake("one of \"preprocess\", \"png\", \"npy\"")
            }
            explain = form
        case "timeout_ms":
            let longest = Int(settings.maxDeadline * 1000)
            guard let time = Int(value), time >= 1, time <= longest else {
                throw parameter.mistake("a whole number of milliseconds from 1 to \(longest)")
            }
            timeoutMilliseconds = time
        default:
            let hint = Spelling.hint(for: name, among: Self.names)
            throw .badRequest(
                "unknown \(parameter.place) \"\(name.prefix(60))\"\(hint); known: "
                    + Self.names.joined(separator: ", "))
        }
    }
}
