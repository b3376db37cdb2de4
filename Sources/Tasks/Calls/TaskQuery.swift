package import HTTPServer
package import HTTPWire
package import ImagePipeline
package import Inference
internal import JSON
package import ServiceCore
package import WireFormats
internal import SystemSupport

/// The parameters of one task on pictures: the common ones, and its own.
package protocol TaskQuery: Sendable {
    /// The parameters that all tasks have.
    var picture: PictureQuery { get set }
    /// The names of the task's own parameters.
    var ownNames: [String] { get }
    /// Takes one of the task's own parameters; false for other parameters.
    mutating func take(_ parameter: RequestParameter) throws(ServiceError) -> Bool
    /// The name of the text parts of a form that make a list, in their order; nil if the task has no list.
    var listName: String? { get }
    /// Takes the values of these parts, after all parameters.
    mutating func take(list: [String]) throws(ServiceError)
}

extension TaskQuery {
    package var listName: String? { nil }
    package mutating func take(list: [String]) throws(ServiceError) {}

    /// The names of all parameters.
    package var names: [String] { ownNames + PictureQuery.names }

    /// Reads the query. An unknown parameter, or one with a wrong value, is refused by name.
    /// - Parameters:
    ///   - form: the parameters of a form's text parts; the query wins.
    ///   - maxDeadline: the greatest timeout in seconds.
    package mutating func read(
        _ target: RequestTarget, form: [(name: String, value: String)] = [], maxDeadline: Double
    ) throws(ServiceError) {
        for parameter in try RequestParameter.all(target, form: form) {
            if try take(parameter) { continue }
            if try picture.take(parameter, maxDeadline: maxDeadline) { continue }
            let hint = Spelling.hint(for: parameter.name, among: names)
            throw .badRequest(
                "unknown \(parameter.place) \"\(parameter.name.prefix(60))\"\(hint); known: "
                    + names.joined(separator: ", "))
        }
    }
}

/// The parameters that all tasks on pictures have.
package struct PictureQuery: Sendable {
    package var crop: CropAndScale?
    /// The size of the picture's tensor, for classify and predict; nil for the model's default.
    package var size: ImageSize?
    /// The orientation of the request's pictures.
    package var orientation = ImageOrientation.apply
    /// The page of a TIFF, from 0.
    package var page = 0
    package var timeoutMilliseconds: Int?
    /// The form in which to show the model's input instead of its answer; nil for the answer.
    package var explain: Explanation?

    /// The forms of a shown tensor.
    package enum Explanation: String, Sendable, CaseIterable {
        /// JSON: the steps, and the tensor as PNG and NPY.
        case preprocess
        /// The tensor as a picture.
        case png
        /// The tensor as a NumPy file.
        case npy
    }

    static let names = ["crop", "orientation", "page", "timeout_ms", "explain"]

    /// The last page that libtiff can count.
    private static let lastPage = 65_534

    /// A query without parameters.
    package init() {}

    /// Takes a parameter; false for other parameters.
    mutating func take(_ parameter: RequestParameter, maxDeadline: Double) throws(ServiceError) -> Bool {
        switch parameter.name {
        case "crop": crop = try parameter.choice()
        case "orientation":
            guard let choice = ImageOrientation(text: parameter.value) else {
                throw parameter.mistake(ImageOrientation.expected)
            }
            orientation = choice
        case "page":
            guard let number = Int(parameter.value), (0...Self.lastPage).contains(number) else {
                throw parameter.mistake("a whole number from 0 to \(Self.lastPage)")
            }
            page = number
        case "explain": explain = try parameter.choice()
        case "timeout_ms":
            let longest = Int(maxDeadline * 1000)
            guard let time = Int(parameter.value), time >= 1, time <= longest else {
                throw parameter.mistake("a whole number of milliseconds from 1 to \(longest)")
            }
            timeoutMilliseconds = time
        default: return false
        }
        return true
    }

    /// The options of a prediction, with its deadline.
    /// - Parameter deadline: the seconds of a request that gives no timeout.
    package func options(of request: HTTPRequest, deadline: Double) -> PredictionOptions {
        var options = PredictionOptions()
        options.cropAndScale = crop
        options.size = size
        options.orientation = orientation
        options.page = page
        options.deadline = request.deadline(timeoutMilliseconds, usual: deadline)
        return options
    }
}
