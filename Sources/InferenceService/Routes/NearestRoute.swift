internal import JSON

/// The resource that is nearest to an unknown path: misspelt, without its version, or as another server has it.
package enum NearestRoute {
    /// The paths of the resources, `{}` where the client's own names go. Unloading a model is nothing to guess.
    private static let templates: [[String]] = [
        "healthz", "readyz", "metrics", "openapi.json", "v1/classify", "v1/detect", "v1/segment", "v1/keypoints",
        "v1/embed",
        "v1/models", "v1/models/{}", "v1/models/{}/classify", "v1/models/{}/predict", "v1/models/{}/detect",
        "v1/models/{}/segment", "v1/models/{}/keypoints", "v1/models/{}/embed", "v1/models/{}/versions/{}",
        "v1/models/{}/versions/{}/classify", "v1/models/{}/versions/{}/predict", "v1/models/{}/versions/{}/detect",
        "v1/models/{}/versions/{}/segment", "v1/models/{}/versions/{}/keypoints", "v1/models/{}/versions/{}/embed",
        "v2", "v2/health/live", "v2/health/ready", "v2/models/stats", "v2/models/{}", "v2/models/{}/ready",
        "v2/models/{}/config", "v2/models/{}/infer", "v2/models/{}/stats", "v2/models/{}/versions/{}",
        "v2/models/{}/versions/{}/ready", "v2/models/{}/versions/{}/config", "v2/models/{}/versions/{}/infer",
        "v2/models/{}/versions/{}/stats", "v2/repository/index", "v2/repository/models/{}/load",
    ].map { $0.split(separator: "/").map(String.init) }

    /// Words of other servers for resources that are called otherwise here.
    private static let synonyms = [
        "health": "healthz", "livez": "healthz", "live": "healthz", "ping": "healthz", "ready": "readyz",
        "openapi": "openapi.json", "swagger.json": "openapi.json", "docs": "openapi.json", "stats": "metrics",
        "v1": "v1/models",
    ]

    /// Longer paths are not misspelt ones; and what a client can make long costs nothing here.
    private static let longest = 200, deepest = 6

    /// The path of the nearest resource, with the client's own names in it; nil if none is near.
    /// `{name}` stands for a name that is missing.
    package static func path(near path: String) -> String? {
        let slashes = path.utf8.count { $0 == UInt8(ascii: "/") }
        guard path.utf8.count <= longest, slashes <= deepest + 2 else { return nil }
        var parts = path.split(separator: "/").map(String.init)
        guard let last = parts.last, parts.count <= deepest else { return nil }
        if parts.count == 1, let name = synonyms[last.lowercased()] { return "/" + name }
        // TensorFlow Serving's form: /v1/models/x:predict
        if let colon = last.lastIndex(of: ":"), colon != last.startIndex {
            parts[parts.count - 1] = String(last[..<colon])
            parts.append(String(last[last.index(after: colon)...]))
        }
        // As it stands; then with the other protocol's version, without a version, without a model.
        if let found = nearest(to: parts) { return found }
        if let version = parts.first, ["v1", "v2"].contains(version) {
            let rest = parts.dropFirst()
            return nearest(to: [version == "v1" ? "v2" : "v1"] + rest, most: 0)
                ?? nearest(to: [version, "models", "{name}"] + rest)
        }
        return nearest(to: ["v1"] + parts) ?? nearest(to: ["v2"] + parts)
            ?? nearest(to: ["v1", "models", "{name}"] + parts) ?? nearest(to: ["v2", "models", "{name}"] + parts)
    }

    private static func nearest(to parts: [String], most: Int = .max) -> String? {
        var best: (distance: Int, path: String)?
        for template in templates where template.count == parts.count {
            guard let distance = distance(of: parts, from: template), distance <= most,
                distance < best?.distance ?? .max
            else { continue }
            best = (distance, "/" + zip(template, parts).map { $0 == "{}" ? $1 : $0 }.joined(separator: "/"))
        }
        // What is found has to be there.
        return best.flatMap { Route(path: $0.path) == nil ? nil : $0.path }
    }

    /// How many letters differ; nil if a word differs by too many to be the same one.
    private static func distance(of parts: [String], from template: [String]) -> Int? {
        var sum = 0
        for (part, word) in zip(parts, template) where word != "{}" {
            guard part != word else { continue }
            let most = word.utf8.count / 3
            guard abs(part.utf8.count - word.utf8.count) <= most else { return nil }
            let distance = Spelling.distance(Array(part.lowercased().utf8), Array(word.utf8))
            guard distance <= most else { return nil }
            sum += max(1, distance)
        }
        return sum
    }
}
