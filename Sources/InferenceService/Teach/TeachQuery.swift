internal import HTTPWire
internal import Teaching

/// The parameters of a request with examples.
struct TeachQuery: TaskQuery {
    var picture = PictureQuery()
    var label: String?
    var ownNames: [String] { ["label"] }

    mutating func take(_ parameter: RequestParameter) throws(ServiceError) -> Bool {
        guard parameter.name == "label" else { return false }
        label = try Self.checked(parameter.value)
        return true
    }

    /// The parameter `label` of a request that has no other; nil without one.
    static func label(in target: RequestTarget) throws(ServiceError) -> String? {
        var label: String?
        for parameter in try RequestParameter.all(target, form: []) {
            guard parameter.name == "label" else {
                throw .badRequest("unknown query parameter \"\(parameter.name.prefix(60))\"; known: label")
            }
            label = try checked(parameter.value)
        }
        return label
    }

    /// 400 for a request that has no label where one is needed.
    static let missing = ServiceError.badRequest("\"label\" is missing: add ?label=, the class of the examples")

    private static func checked(_ label: String) throws(ServiceError) -> String {
        do throws(TeachingError) { try TaughtNames.check(label: label) } catch { throw ServiceError(error) }
        return label
    }
}
