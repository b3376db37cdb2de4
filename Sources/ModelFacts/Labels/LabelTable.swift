internal import FileFormats
internal import JSON

/// Reads names of classes from the forms in JSON and YAML files.
enum LabelTable {
    /// The maximum number of classes: ImageNet-21k has 21,843.
    static let maximumLabels = 200_000

    /// - Parameter skips: whether classes may lack a name, as in files written by people.
    static func read(_ value: JSONValue, skips: Bool = false) throws(FormatError) -> [String] {
        let labels: [String]
        switch value {
        case .array(let elements): labels = try list(elements)
        case .object(let members): labels = try table(members, skips)
        default: throw FormatError("expected the names of classes, found \(value.kind)")
        }
        guard !labels.isEmpty else { throw FormatError("has no names") }
        return labels
    }

    private static func list(_ elements: [JSONValue]) throws(FormatError) -> [String] {
        guard elements.count <= maximumLabels else { throw tooMany(elements.count) }
        if elements.contains(where: { if case .object = $0 { true } else { false } }) { return try entries(elements) }
        var labels: [String] = []
        for (index, element) in elements.enumerated() {
            guard let text = PlainScalar.text(element) else {
                throw FormatError("[\(index)]: expected a name, found \(element.kind)")
            }
            labels.append(text)
        }
        return labels
    }

    /// The names of `{"id": 0, "name": "cat"}` objects: by their numbers from 0 or 1, or in order if they have no
    /// numbers.
    private static func entries(_ elements: [JSONValue]) throws(FormatError) -> [String] {
        var names: [(number: Int?, name: String)] = []
        for (index, element) in elements.enumerated() {
            guard case .object(let members) = element,
                let name = ["name", "label", "class_name", "display_name", "displayName"].lazy.compactMap({
                    members[$0].flatMap(PlainScalar.text)
                }).first
            else { throw FormatError("[\(index)]: expected an object with a \"name\", found \(element.kind)") }
            let number = ["id", "index", "class_id"].lazy.compactMap { members[$0] }.first.flatMap {
                FactNode.integer($0, in: 0...maximumLabels)
            }
            names.append((number, name))
        }
        let pairs = names.compactMap { entry in entry.number.map { (number: $0, name: entry.name) } }
        guard !pairs.isEmpty else { return names.map(\.name) }
        guard pairs.count == names.count else {
            throw FormatError("has numbers for \(pairs.count) of its \(names.count) names")
        }
        return try NumberedLabels.names(pairs)
    }

    private static func tooMany(_ count: Int) -> FormatError {
        FormatError("has \(count) names: the limit is \(maximumLabels)")
    }

    /// The names of an object by number, or with numbers as values (`label2id`). If a value is a list, its last element
    /// is the name: Keras' `{"0": ["n01440764", "tench"]}`.
    private static func table(_ members: [String: JSONValue], _ skips: Bool) throws(FormatError) -> [String] {
        guard members.count <= maximumLabels else { throw tooMany(members.count) }
        var pairs: [(number: Int, name: String)] = []
        let byNumber = members.keys.allSatisfy { Int($0) != nil }
        for (key, value) in members {
            let number: Int?
            let name: String?
            if byNumber {
                number = Int(key)
                if case .array(let parts) = value {
                    name = parts.last.flatMap(PlainScalar.text)
                } else {
                    name = PlainScalar.text(value)
                }
            } else {
                if case .string(let text) = value {
                    number = Int(text)
                } else {
                    number = FactNode.integer(value, in: 0...maximumLabels)
                }
                name = key
            }
            guard let number, let name else {
                throw FormatError("\"\(key.prefix(60))\": expected a name and its number, found \(value.kind)")
            }
            pairs.append((number, name))
        }
        if !skips, let greatest = pairs.map(\.number).max(), greatest >= pairs.count {
            throw FormatError(
                "names class \(greatest), but has \(pairs.count) names: expected every number from 0 on")
        }
        return try NumberedLabels.names(pairs, startsAtOne: false)
    }
}

extension FactNode {
    /// Names by class: `{"0": "cat", …}` with every number from 0, `{"cat": 0, …}`, or an array.
    func labels(_ key: String) -> [String]? {
        guard let value = value(key) else { return nil }
        do throws(FormatError) {
            return try LabelTable.read(value)
        } catch {
            note(key, error.reason)
            return nil
        }
    }
}
