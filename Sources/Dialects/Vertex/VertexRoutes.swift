package import Settings
package import SystemSupport

/// The paths of Vertex AI's requests to a container, from the variables that it sets (`AIP_HEALTH_ROUTE`,
/// `AIP_PREDICT_ROUTE`).
package struct VertexRoutes: Sendable, Hashable {
    /// The path of the health check; nil without one.
    package let health: String?
    /// The path of predictions; nil without one.
    package let predict: String?

    /// No paths.
    package static let none = VertexRoutes(health: nil, predict: nil)

    private init(health: String?, predict: String?) {
        self.health = health
        self.predict = predict
    }

    /// The paths in an environment, if the dialect is enabled.
    package init(_ settings: Settings, environment: [String: String]) throws(CommandError) {
        guard settings.dialects.contains(.vertex) else {
            self = .none
            return
        }
        health = try Self.path("AIP_HEALTH_ROUTE", environment)
        predict = try Self.path("AIP_PREDICT_ROUTE", environment)
        if let health, health == predict {
            throw CommandError(
                "AIP_HEALTH_ROUTE and AIP_PREDICT_ROUTE are the same path, \(health)", isConfiguration: true)
        }
        guard settings.dialects.contains(.labelStudio) else { return }
        for (name, path) in [("AIP_HEALTH_ROUTE", health), ("AIP_PREDICT_ROUTE", predict)] {
            guard let path, LabelStudioPaths.all.contains(path) else { continue }
            throw CommandError(
                "\(name) is \(path), which the interface \"labelstudio\" has too (dialects): give it another path, or leave one of "
                    + "the interfaces out", isConfiguration: true)
        }
    }

    private static func path(_ name: String, _ environment: [String: String]) throws(CommandError) -> String? {
        guard let path = environment[name], !path.isEmpty else { return nil }
        let isPlain = path.utf8.allSatisfy {
            $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "%") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
        }
        guard path.hasPrefix("/"), path.utf8.count <= 1_024, isPlain else {
            throw CommandError(
                "\(name): expected a path such as /predict, of letters, digits and :/-._~, found \"\(path.prefix(100))\"",
                isConfiguration: true)
        }
        return path
    }
}
