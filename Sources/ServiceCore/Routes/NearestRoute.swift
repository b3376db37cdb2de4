internal import JSON
internal import SystemSupport

/// Suggests the resource nearest to an unknown path: misspelt, without a version, or in the form of another server.
package struct NearestRoute: Sendable {
    private let templates: [PathTemplate]
    private let deepest: Int

    /// Suggests the paths of some templates.
    package init(_ templates: [PathTemplate]) {
        let templates = templates.filter { $0.parts != [.word("")] }
        self.templates = templates
        deepest = templates.map(\.parts.count).max() ?? 0
    }

    /// Other servers' names for resources with other names here.
    private static let synonyms = [
        "health": "healthz", "livez": "healthz", "live": "healthz", "ping": "healthz", "ready": "readyz",
        "openapi": "openapi.json", "swagger.json": "openapi.json", "docs": "openapi.json", "stats": "metrics",
        "v1": "v1/models",
    ]

    /// The maximum length of a path: longer ones are not typing errors, and must not cost time.
    private static let longest = 200

    /// The path of the nearest resource, with the client's own names; nil if no resource is near. A missing name is
    /// `{name}`.
    package func path(near path: String) -> String? {
        let slashes = path.utf8.count { $0 == UInt8(ascii: "/") }
        guard path.utf8.count <= Self.longest, slashes <= deepest + 2 else { return nil }
        var parts = path.split(separator: "/").map(String.init)
        guard let last = parts.last, parts.count <= deepest else { return nil }
        if parts.count == 1, let name = Self.synonyms[last.lowercased()] { return "/" + name }
        // TensorFlow Serving's form: /v1/models/x:predict
        if let colon = last.lastIndex(of: ":"), colon != last.startIndex {
            parts[parts.count - 1] = String(last[..<colon])
            parts.append(String(last[last.index(after: colon)...]))
        }
        // Try the path as it is; then with the other protocol's version, without a version, without a model.
        if let found = nearest(to: parts) { return found }
        if let version = parts.first, ["v1", "v2"].contains(version) {
            let rest = parts.dropFirst()
            return nearest(to: [version == "v1" ? "v2" : "v1"] + rest, maximum: 0)
                ?? nearest(to: [version, "models", "{name}"] + rest)
                ?? (rest.count > 1 ? nearest(to: [version, "models"] + rest) : nil)
        }
        return nearest(to: ["v1"] + parts) ?? nearest(to: ["v2"] + parts)
            ?? nearest(to: ["v1", "models", "{name}"] + parts) ?? nearest(to: ["v2", "models", "{name}"] + parts)
            // A model's name with a route; any word could be a name without one.
            ?? (parts.count > 1 ? nearest(to: ["v1", "models"] + parts) : nil)
    }

    private func nearest(to parts: [String], maximum: Int = .max) -> String? {
        guard !parts.contains("") else { return nil }
        var best: (distance: Int, path: String)?
        for template in templates where template.parts.count == parts.count {
            guard let distance = Self.distance(of: parts, from: template), distance <= maximum,
                distance < best?.distance ?? .max
            else { continue }
            let named = zip(template.parts, parts).map { if case .word(let word) = $0 { word } else { $1 } }
            best = (distance, "/" + named.joined(separator: "/"))
        }
        return best?.path
    }

    /// The number of different letters; nil if a word differs by too many to be a typing error.
    private static func distance(of parts: [String], from template: PathTemplate) -> Int? {
        var sum = 0
        for case (let part, .word(let word)) in zip(parts, template.parts) where part != word {
            let maximum = word.utf8.count / 3
            guard abs(part.utf8.count - word.utf8.count) <= maximum else { return nil }
            let distance = Spelling.distance(Array(part.lowercased().utf8), Array(word.utf8))
            guard distance <= maximum else { return nil }
            sum += max(1, distance)
        }
        return sum
    }
}
