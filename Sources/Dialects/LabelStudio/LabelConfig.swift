package import FileFormats

/// A project's label config: its control tags on pictures, of the kinds that models can fill in.
///
/// The config is XML from outside: a document type is refused, and its size, depth and numbers of tags are bounded.
package struct LabelConfig: Sendable, Equatable {
    /// The kinds of control tags. The raw values are the types of their results.
    package enum Kind: String, Sendable, CaseIterable {
        case choices
        case rectangles = "rectanglelabels"
        case keyPoints = "keypointlabels"
        case brushes = "brushlabels"
        case texts = "textarea"
    }

    /// A label of a control tag.
    package struct Label: Sendable, Equatable {
        /// The label in results: its alias, else its value.
        package let name: String
        /// The model's labels that mean it (`predicted_values`).
        package let predicted: [String]
    }

    /// A control tag on a picture.
    package struct Control: Sendable, Equatable {
        package let kind: Kind
        package let name: String
        /// The name of the picture's tag.
        package let image: String
        /// The member of a task's `data` with the picture.
        package let member: String
        /// The name of the model (`model_path`); nil for the default one.
        package let model: String?
        package fileprivate(set) var labels: [Label] = []
        /// True if a picture may have several of the choices.
        package let isMultiple: Bool
        /// The tag for the places of lines of text (`Rectangle`); nil for one text of the whole picture.
        package fileprivate(set) var frame: String?
    }

    package private(set) var controls: [Control] = []

    /// The limits on a config.
    private static let maximumBytes = 1 << 20, maximumDepth = 100, maximumTags = 50_000, maximumControls = 20

    /// Reads a config.
    /// - Throws: with the reason, which goes on after the config's name.
    package init(_ text: String) throws(FormatError) {
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.maximumBytes else {
            throw FormatError("has \(bytes.count) bytes: the limit is \(Self.maximumBytes)")
        }
        var reading = Reading()
        try reading.read(bytes)
        controls = reading.controls
        guard controls.count <= Self.maximumControls else {
            throw FormatError(
                "has \(controls.count) control tags for models: the limit is \(Self.maximumControls)")
        }
    }

    // MARK: Reading

    /// A control tag before its picture is known, which may come later.
    private struct Found {
        let kind: Kind
        let attributes: [String: String]
        var labels: [Label] = []
    }

    private struct Reading {
        private var found: [Found] = []
        /// The members of tasks with the pictures, by the names of the pictures' tags.
        private var members: [String: String] = [:]
        /// The tags for places, by the pictures' tags.
        private var frames: [String: String] = [:]
        /// The open tags, with the control tag that each belongs to.
        private var stack: [(name: String, control: Int?)] = []

        mutating func read(_ bytes: [UInt8]) throws(FormatError) {
            var walk = XMLWalk(bytes), tags = 0
            while let event = try walk.next() {
                tags += 1
                guard tags <= LabelConfig.maximumTags else {
                    throw FormatError("has more than \(LabelConfig.maximumTags) tags")
                }
                switch event {
                case .open(let name, let attributes, let isEmpty):
                    let control = begin(name.lowercased(), attributes)
                    guard !isEmpty else { continue }
                    stack.append((name, control))
                    guard stack.count <= LabelConfig.maximumDepth else {
                        throw FormatError("is nested too deeply: the limit is \(LabelConfig.maximumDepth) levels")
                    }
                case .close(let name):
                    guard stack.popLast()?.name == name else {
                        throw FormatError(
                            "closes \"\(name.prefix(60))\" where another tag is open, before byte \(walk.place)")
                    }
                }
            }
            if let last = stack.last { throw FormatError("does not close \"\(last.name.prefix(60))\"") }
        }

        /// Takes a tag.
        /// - Returns: the control tag that its children belong to.
        private mutating func begin(_ name: String, _ attributes: [String: String]) -> Int? {
            switch name {
            case "image":
                if let tag = attributes["name"], let value = attributes["value"], value.hasPrefix("$") {
                    members[tag] = String(value.dropFirst())
                }
            case "rectangle":
                if let tag = attributes["name"], let image = attributes["toName"], frames[image] == nil {
                    frames[image] = tag
                }
            case "choice", "label":
                guard let control = stack.last?.control else { return nil }
                if let label = Label(attributes) { found[control].labels.append(label) }
                return control
            default:
                guard let kind = Kind(rawValue: name) else { return stack.last?.control }
                found.append(Found(kind: kind, attributes: attributes))
                return found.count - 1
            }
            return stack.last?.control
        }

        var controls: [Control] {
            found.compactMap { one in
                let attributes = one.attributes
                let targets = (attributes["toName"] ?? "").split(separator: ",").map(String.init)
                guard let name = attributes["name"], let image = targets.first(where: { members[$0] != nil }),
                    let member = members[image]
                else { return nil }
                let model = attributes["model_path"].flatMap { $0.isEmpty ? nil : $0 }
                var control = Control(
                    kind: one.kind, name: name, image: image, member: member, model: model,
                    isMultiple: attributes["choice"] == "multiple")
                control.labels = one.labels
                if attributes["perRegion"] == "true" { control.frame = frames[image] }
                return control
            }
        }
    }
}

extension LabelConfig.Label {
    /// Nil for a tag without a value.
    fileprivate init?(_ attributes: [String: String]) {
        let value = attributes["value"].flatMap { $0.isEmpty ? nil : $0 }
        guard let name = attributes["alias"].flatMap({ $0.isEmpty ? nil : $0 }) ?? value else { return nil }
        self.name = name
        predicted = (attributes["predicted_values"] ?? "").split(separator: ",").compactMap { part in
            let word = part.drop { $0 == " " }
            guard let last = word.lastIndex(where: { $0 != " " }) else { return nil }
            return String(word[...last])
        }
    }
}
