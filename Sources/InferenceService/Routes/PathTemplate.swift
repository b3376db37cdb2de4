/// The form of a path: `/v1/models/{name}/versions/{version}/classify`.
package struct PathTemplate: Sendable, Hashable, ExpressibleByStringLiteral {
    /// A part of a path, between two slashes.
    package enum Part: Sendable, Hashable {
        case word(String)
        /// A model's name: any text but none.
        case name
        /// A version of it: any text but none.
        case version
        /// A label that stands for a version of it: any text but none.
        case label
        /// The identifier of something that it has: any text but none.
        case id
    }

    /// The template as it is written in the table and in the OpenAPI document.
    package let text: String
    /// Its parts, from the first slash on.
    package let parts: [Part]
    /// The word behind the last colon of the last part (`/v1/models/{name}:predict`); nil if the form has none.
    let verb: String?

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

    /// It has neither a name nor a version.
    package var isFixed: Bool { !parts.contains { if case .word = $0 { false } else { true } } }

    /// The names that a path has where a template has none of its own words.
    struct Names {
        var name = ""
        var version: String?
        var label: String?
        var id: String?
    }

    /// The names that a path of this form has; nil if it has another form.
    /// - Parameter path: the parts of the path, as many as the template has.
    func names(in path: [Substring]) -> Names? {
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

    /// The three paths of a verb of what a model has: of the model, of one version, and of the version that a label
    /// stands for.
    static func labelled(_ prefix: String, _ end: String = "") -> [PathTemplate] {
        ["", "/versions/{version}", "/labels/{label}"].map { PathTemplate("\(prefix)/{name}\($0)\(end)") }
    }

    /// The three paths of a task: of the default model, of a model, and of one version of it.
    static func task(_ name: String) -> [PathTemplate] { [PathTemplate("/v1/\(name)")] + model("/v1/models", name) }

    /// The two paths of what a model has: of the model, and of one version of it.
    static func model(_ prefix: String, _ name: String? = nil) -> [PathTemplate] {
        let end = name.map { "/\($0)" } ?? ""
        return [PathTemplate("\(prefix)/{name}\(end)"), PathTemplate("\(prefix)/{name}/versions/{version}\(end)")]
    }
}
