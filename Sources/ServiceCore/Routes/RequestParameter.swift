package import HTTPWire
package import WireFormats

/// A parameter of a request, from its query or from a text part of a form.
package struct RequestParameter {
    package let name: String
    package let value: String
    /// The place of the parameter, for errors.
    package let place: String

    /// The maximum number of parameters in a query, because the event loop reads them all.
    private static let maximum = 100

    /// The parameters of a request, from the query and from the form; the query wins. A parameter that is given twice
    /// with different values is refused.
    package static func all(
        _ target: RequestTarget, form: [(name: String, value: String)]
    ) throws(ServiceError) -> [RequestParameter] {
        let ampersands = target.query?.utf8.count { $0 == UInt8(ascii: "&") } ?? 0
        guard ampersands < maximum else {
            throw .badRequest("the query has more than \(maximum) parameters: \(ampersands + 1)")
        }
        let query = target.queryItems().map {
            RequestParameter(name: $0.name, value: $0.value, place: "query parameter")
        }
        let others = form.filter { field in !query.contains { $0.name == field.name } }
        let all = others.map { RequestParameter(name: $0.name, value: $0.value, place: "form field") } + query
        var values: [String: String] = [:]
        for parameter in all {
            guard let other = values.updateValue(parameter.value, forKey: parameter.name), other != parameter.value
            else { continue }
            throw .badRequest(
                "\(parameter.place) \"\(parameter.name.prefix(60))\" is given twice: \"\(other.prefix(60))\" and "
                    + "\"\(parameter.value.prefix(60))\"")
        }
        return all
    }

    /// The value as a decimal number from 0 to 1.
    package func share() throws(ServiceError) -> Float {
        // Swift also reads hexadecimal numbers.
        guard !value.contains(where: { $0 == "x" || $0 == "X" }), let number = Float(value), (0...1).contains(number)
        else { throw mistake("a number from 0 to 1") }
        return number
    }

    /// The value as a count, 1 or more.
    package func count() throws(ServiceError) -> Int {
        guard let count = Int(value), count >= 1 else { throw mistake("a whole number of 1 or more") }
        return count
    }

    /// The value as yes or no.
    package func flag() throws(ServiceError) -> Bool {
        guard let flag = Bool(value) else { throw mistake("true or false") }
        return flag
    }

    /// The value as one of a few words.
    package func choice<T: RawRepresentable & CaseIterable>() throws(ServiceError) -> T where T.RawValue == String {
        guard let choice = T(rawValue: value) else {
            throw mistake("one of " + T.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", "))
        }
        return choice
    }

    /// The error for a value that does not fit.
    package func mistake(_ expected: String) -> ServiceError {
        .badRequest("\(place) \"\(name)\": expected \(expected), found \"\(value.prefix(60))\"")
    }
}
