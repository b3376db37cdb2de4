package import JSON

/// Finds the `$decide` remarks in a model.json: decisions that `ocelli init` could not make, and that the user has not
/// made yet.
package enum DecisionMarks {
    private static let key = "$decide"
    private static let maximum = 100

    /// Each remark with its path: `inputs[0]: normalize: [0,1] or [-1,1]`.
    package static func all(in value: JSONValue) -> [String] {
        var found: [String] = []
        gather(value, path: "", into: &found)
        return found
    }

    private static func gather(_ value: JSONValue, path: String, into found: inout [String]) {
        guard found.count < maximum else { return }
        switch value {
        case .object(let members):
            for (key, member) in members.sorted(by: { $0.key < $1.key }) {
                guard key == Self.key else {
                    gather(member, path: path.isEmpty ? key : "\(path).\(key)", into: &found)
                    continue
                }
                // The mark is valid with any value, because it is removed once the decision is made.
                let text = if case .string(let text) = member { text } else { "the remark \"\(key)\"" }
                found.append(path.isEmpty ? text : "\(path): \(text)")
            }
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                gather(element, path: "\(path)[\(index)]", into: &found)
            }
        default: break
        }
    }
}
