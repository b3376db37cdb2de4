package import HTTPServer
package import HTTPWire
package import SystemSupport

extension HTTPRequest {
    /// The request's deadline.
    /// - Parameters:
    ///   - milliseconds: the time that the request gives; nil if it gives none.
    ///   - usual: the seconds of a request that gives no time (`deadline`).
    package func deadline(_ milliseconds: Int? = nil, usual: Double) -> MonotonicInstant {
        let time = milliseconds.map { Duration.milliseconds($0) } ?? .seconds(usual)
        // Count from the body's end: the time of a slow upload is the client's own, and has its own limits.
        return bodyReceived + time
    }

    /// True if `Accept` (RFC 9110 section 12.5.1) prefers a media type to JSON, which every route has: it names the
    /// type, with no less weight than JSON, or it names all types of its kind (`image/*`) with more weight than JSON.
    package func accepts(_ type: String) -> Bool { weight(type) != nil }

    /// The type that `Accept` prefers to JSON: the one with the greatest weight, of equal ones the first; nil for JSON.
    package func preferred(_ types: [String]) -> String? {
        var best: (type: String, weight: Double)?
        for type in types {
            guard let weight = weight(type), weight > best?.weight ?? 0 else { continue }
            best = (type, weight)
        }
        return best?.type
    }

    /// The weight of a type that is preferred to JSON; nil if it is not.
    private func weight(_ type: String) -> Double? {
        let ranges = head.values(of: "accept").joined(separator: ",").split(separator: ",").map { range in
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) }
            return (name: parts.first ?? "", weight: weight ?? 1)
        }
        func weight(_ name: String) -> Double? { ranges.first { $0.name == name }?.weight }
        let json = weight("application/json") ?? weight("application/*") ?? 0
        if let named = weight(type) { return named > 0 && named >= json ? named : nil }
        guard let kind = weight(type.prefix { $0 != "/" } + "/*"), kind > max(json, weight("*/*") ?? 0) else {
            return nil
        }
        return kind
    }
}

extension RequestHead {
    /// True if `Cache-Control` has a directive without a value (RFC 9111 section 5.2.1).
    package func hasCacheControl(_ directive: String) -> Bool {
        values(of: "cache-control").contains { value in
            value.lowercased().split(separator: ",").contains { part in
                part.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" } == directive
            }
        }
    }
}
