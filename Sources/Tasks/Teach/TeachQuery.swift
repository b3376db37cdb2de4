package import HTTPWire
package import ServiceCore
internal import Teaching
package import WireFormats

/// The parameters of a request with examples.
package struct TeachQuery: TaskQuery {
    package var picture = PictureQuery()
    var label: String?
    /// The caller's own name for the pictures.
    var name: String?

    package init() {}
    package var ownNames: [String] { ["label", "name"] }

    package mutating func take(_ parameter: RequestParameter) throws(ServiceError) -> Bool {
        switch parameter.name {
        case "label": label = try Self.checked(parameter.value)
        case "name":
            do throws(TeachingError) { try TaughtNames.check(exampleName: parameter.value) } catch {
                throw ServiceError(error)
            }
            name = parameter.value
        default: return false
        }
        return true
    }

    /// The parameter `label` of a request that has no other; nil without one.
    package static func label(in target: RequestTarget) throws(ServiceError) -> String? {
        var label: String?
        for parameter in try RequestParameter.all(target, form: []) {
            guard parameter.name == "label" else {
                throw .badRequest("unknown query parameter \"\(parameter.name.prefix(60))\"; known: label")
            }
            label = try checked(parameter.value)
        }
        return label
    }

    /// The error 400 for a missing label.
    package static let missing = ServiceError.badRequest("\"label\" is missing: add ?label=, the class of the examples")

    /// The label. Throws 400 if it cannot be one.
    package static func checked(_ label: String) throws(ServiceError) -> String {
        do throws(TeachingError) { try TaughtNames.check(label: label) } catch { throw ServiceError(error) }
        return label
    }
}

/// The parameters of a search for the nearest examples.
package struct SearchQuery: TaskQuery {
    package var picture = PictureQuery()
    /// The greatest number of examples in the answer.
    private(set) var top = 10
    /// The label of the examples; nil for all labels.
    private(set) var label: String?

    private static let maximumTop = 1_000

    package init() {}
    package var ownNames: [String] { ["top", "label"] }

    package mutating func take(_ parameter: RequestParameter) throws(ServiceError) -> Bool {
        switch parameter.name {
        case "top":
            guard let number = Int(parameter.value), (1...Self.maximumTop).contains(number) else {
                throw parameter.mistake("a whole number from 1 to \(Self.maximumTop)")
            }
            top = number
        case "label": label = try TeachQuery.checked(parameter.value)
        default: return false
        }
        return true
    }
}

/// The parameters of a list of examples: a label, and the page.
package struct ExamplesQuery: Sendable {
    /// The label of the examples; nil for all labels.
    private(set) var label: String?
    /// The last example of the previous page; nil for the first page.
    private(set) var after: ExampleID?
    /// The maximum number of examples on the page.
    private(set) var limit = 1_000

    private static let maximumExamples = 10_000

    package init(_ target: RequestTarget) throws(ServiceError) {
        for parameter in try RequestParameter.all(target, form: []) {
            switch parameter.name {
            case "label": label = try TeachQuery.checked(parameter.value)
            case "limit":
                guard let number = Int(parameter.value), (1...Self.maximumExamples).contains(number) else {
                    throw parameter.mistake("a whole number from 1 to 10000")
                }
                limit = number
            case "after":
                guard let id = ExampleID(parameter.value) else {
                    throw parameter.mistake("\"next\" of the page before, 64 hexadecimal digits")
                }
                after = id
            default:
                throw .badRequest(
                    "unknown query parameter \"\(parameter.name.prefix(60))\"; known: label, limit, after")
            }
        }
    }
}
