internal import HTTPWire

/// A parameter of a request: of its query, or of a text part of a form.
struct RequestParameter {
    let name: String
    let value: String
    /// Where it stands, for errors.
    let place: String

    /// The parameters of a request: those of a form that the query does not have, and those of the query, which wins.
    static func all(_ target: RequestTarget, form: [(name: String, value: String)]) -> [RequestParameter] {
        let query = target.queryItems().map {
            RequestParameter(name: $0.name, value: $0.value, place: "query parameter")
        }
        let others = form.filter { field in !query.contains { $0.name == field.name } }
        return others.map { RequestParameter(name: $0.name, value: $0.value, place: "form field") } + query
    }

    /// The error for a value that does not fit.
    func mistake(_ expected: String) -> ServiceError {
        .badRequest("\(place) \"\(name)\": expected \(expected), found \"\(value.prefix(60))\"")
    }
}
