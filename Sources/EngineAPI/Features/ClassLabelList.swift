/// A classifier's labels: strings, or integers.
package enum ClassLabelList: Sendable, Hashable {
    case strings([String])
    case integers([Int64])

    package var areIntegers: Bool { if case .integers = self { true } else { false } }

    /// The label at an index; nil if the index is out of range.
    package func value(at index: Int) -> FeatureValue? {
        switch self {
        case .strings(let labels): labels.indices.contains(index) ? .string(labels[index]) : nil
        case .integers(let labels): labels.indices.contains(index) ? .int64(labels[index]) : nil
        }
    }

    /// The labels as text.
    package var texts: [String] {
        switch self {
        case .strings(let labels): labels
        case .integers(let labels): labels.map(String.init)
        }
    }
}
