/// A text around a label: `a photo of a {}.`
package struct Prompt: Sendable, Hashable {
    /// The maximum size of a prompt in UTF-8.
    package static let maximumBytes = 1_024
    /// The maximum number of prompts. Their vectors are averaged.
    package static let maximumCount = 100

    private let before: String, after: String

    /// The label without other text.
    package static let plain = Prompt(before: "", after: "")

    private init(before: String, after: String) { (self.before, self.after) = (before, after) }

    /// A prompt with one `{}`, the place of the label; nil for another text (``expected``).
    package init?(_ text: String) {
        guard text.utf8.count <= Self.maximumBytes else { return nil }
        let places = text.ranges(of: "{}")
        guard places.count == 1, let place = places.first else { return nil }
        self.init(before: String(text[..<place.lowerBound]), after: String(text[place.upperBound...]))
    }

    /// The description of a prompt, for errors.
    package static let expected = "a text of at most \(maximumBytes) bytes with exactly one {}, the place of the label"

    /// The prompt with a label; braces of the label stay.
    package func text(for label: String) -> String { before + label + after }
}

/// The rules for the labels of a model without classes of its own.
package enum LabelList {
    /// The maximum number of labels, and the maximum size of one in UTF-8.
    package static let maximumCount = 1_000, maximumBytes = 256

    /// The first mistake in a list of labels, as a sentence that names the label; nil without a mistake.
    package static func mistake(in labels: [String]) -> String? {
        guard (1...maximumCount).contains(labels.count) else {
            return "expected 1 to \(maximumCount) labels, found \(labels.count)"
        }
        var known: [[UInt8]: Int] = [:]
        for (index, label) in labels.enumerated() {
            let bytes = Array(label.utf8)
            guard (1...maximumBytes).contains(bytes.count) else {
                return "label \(index + 1): expected 1 to \(maximumBytes) bytes of UTF-8, found \(bytes.count)"
            }
            guard !label.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
                return "label \(index + 1) has a control character"
            }
            if let other = known.updateValue(index, forKey: bytes) {
                return "labels \(other + 1) and \(index + 1) are both \"\(label)\""
            }
        }
        return nil
    }
}
