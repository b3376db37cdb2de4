/// The labels of a control tag by those of a model: by `predicted_values`, then equal, then without regard to case.
package struct LabelNames: Sendable {
    private var predicted: [String: String] = [:]
    private var equal: Set<String> = []
    private var lowercased: [String: String] = [:]

    package init(_ labels: [LabelConfig.Label]) {
        // Of two labels with the same word, the first has it.
        for label in labels {
            for word in label.predicted where predicted[word] == nil { predicted[word] = label.name }
            equal.insert(label.name)
            let key = label.name.lowercased()
            if lowercased[key] == nil { lowercased[key] = label.name }
        }
    }

    /// The label in results; nil for one that the config does not have.
    package func name(of label: String) -> String? {
        if let name = predicted[label] { return name }
        return equal.contains(label) ? label : lowercased[label.lowercased()]
    }

    /// The class that an annotation teaches: the one of the model that means the label, else the first predicted value,
    /// else the label itself.
    /// - Parameter classes: the classes that the model has.
    package static func taughtClass(_ name: String, of control: LabelConfig.Control, classes: [String]) -> String {
        let names = LabelNames(control.labels)
        if let known = classes.first(where: { names.name(of: $0) == name }) { return known }
        return control.labels.first { $0.name == name }?.predicted.first ?? name
    }
}
