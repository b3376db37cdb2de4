/// The form of a path: `/v1/models/{name}/versions/{version}/classify`.
package struct PathTemplate: Sendable, Hashable, ExpressibleByStringLiteral {
    /// A part of a path, between two slashes.
    package enum Part: Sendable, Hashable {
        case word(String)
        /// The name of a model, not empty.
        case name
        /// The version of a model, not empty.
        case version
        /// The label of a model's version, not empty.
        case label
        /// The identifier of a part of a model, such as an example; not empty.
        case id
    }

    /// The template as in the table of routes and in the OpenAPI document.
    package let text: String
    /// Its parts, from the first slash on.
    package let parts: [Part]
    /// The word after the last colon of the last part (`/v1/models/{name}:predict`); nil without one.
    package let verb: String?

    package init(stringLiteral text: String) { self.init(text) }

    package init(_ text: String) {
        self.text = text
        // A fixed path is compared as a whole.
        let colon = text.hasSuffix("}") ? nil : text.firstRange(of: "}:")
        verb = colon.map { String(text[$0.upperBound...]) }
        let text = colon.map { text[...$0.lowerBound] } ?? text[...]
        parts = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { part in
            switch part {
            case "{name}": .name
            case "{version}": .version
            case "{label}": .label
            case "{id}": .id
            default: .word(String(part))
            }
        }
    }

    /// True if the template has no placeholders.
    package var isFixed: Bool { !parts.contains { if case .word = $0 { false } else { true } } }

    /// The values of a template's placeholders in a path.
    package struct Names: Sendable {
        /// The model's name; empty if the path has none.
        package var name = ""
        package var version: String?
        /// The label of a version; nil if the path has none.
        package var label: String?
        /// The identifier of a part of the model; nil if the path has none.
        package var id: String?

        package init() {}
    }

    /// The values of the placeholders in a path; nil if the path does not match.
    /// - Parameter path: the parts of the path, as many as the template has.
    package func names(in path: [Substring]) -> Names? {
        var path = path
        if let verb {
            guard let last = path.last, let colon = last.lastIndex(of: ":"), last[colon...].dropFirst() == verb else {
                return nil
            }
            path[path.count - 1] = last[..<colon]
        }
        var names = Names()
        for (part, text) in zip(parts, path) {
            switch part {
            case .word(let word): guard text == word else { return nil }
            case .name:
                guard !text.isEmpty else { return nil }
                names.name = String(text)
            case .version:
                guard !text.isEmpty else { return nil }
                names.version = String(text)
            case .label:
                guard !text.isEmpty else { return nil }
                names.label = String(text)
            case .id:
                guard !text.isEmpty else { return nil }
                names.id = String(text)
            }
        }
        return names
    }

    /// The three paths of a verb on a model: for the model, for one version, and for the version with a label.
    package static func labelled(_ prefix: String, _ end: String = "") -> [PathTemplate] {
        ["", "/versions/{version}", "/labels/{label}"].map { PathTemplate("\(prefix)/{name}\($0)\(end)") }
    }

    /// The three paths of a task: for the default model, for a model, and for one version of it.
    package static func task(_ name: String) -> [PathTemplate] {
        [PathTemplate("/v1/\(name)")] + model("/v1/models", name)
    }

    /// The two paths of a model's resource: for the model, and for one version of it.
    package static func model(_ prefix: String, _ name: String? = nil) -> [PathTemplate] {
        let end = name.map { "/\($0)" } ?? ""
        return [PathTemplate("\(prefix)/{name}\(end)"), PathTemplate("\(prefix)/{name}/versions/{version}\(end)")]
    }
}
