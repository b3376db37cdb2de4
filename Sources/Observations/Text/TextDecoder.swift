/// A description of an output with the text of a line: at each step a probability for each class, of which class 0 is
/// the blank of Connectionist Temporal Classification.
package struct TextDecoding: Sendable, Hashable {
    /// The texts of the classes from 1: a character each, or several. A space follows if the output has one class more.
    package var dictionary: [String]

    package init(dictionary: [String]) { self.dictionary = dictionary }

    /// The texts of all classes, with an empty one for the blank; nil if the numbers do not fit. A dictionary may begin
    /// with its own entry for the blank, which is then empty.
    package func texts(classes: Int) -> [String]? {
        switch classes - dictionary.count {
        case 0 where dictionary.first == "": dictionary
        case 1: [""] + dictionary
        case 2: [""] + dictionary + [" "]
        default: nil
        }
    }
}

/// A character of a line of text.
package struct TextCharacter: Sendable, Hashable {
    /// The entry of the dictionary: usually one character.
    package let text: String
    /// The probability, 0 to 1.
    package let confidence: Float
    /// The middle, as a share of the output's steps.
    package var middle: Double

    package init(text: String, confidence: Float, middle: Double) {
        (self.text, self.confidence, self.middle) = (text, confidence, middle)
    }
}

/// Reads the text of a line from an output.
package struct TextDecoder: Sendable {
    private let texts: [String]
    private let steps: Int

    /// Prepares to decode an output of this shape: `[1, steps, classes]`, or `[steps, 1, classes]`.
    package init(_ decoding: TextDecoding, shape: [Int]) throws(ObservationError) {
        guard shape.count == 3, shape[0] == 1 || shape[1] == 1, let count = OutputTensor.count(of: shape), count > 0,
            shape[2] > 1
        else { throw .unexpected(role: "output", expected: "[1, steps, classes]", found: "\(shape)") }
        guard let texts = decoding.texts(classes: shape[2]) else {
            throw .unexpected(
                role: "output",
                expected:
                    "\(decoding.dictionary.count + 1) or \(decoding.dictionary.count + 2) classes, for a dictionary of "
                    + "\(decoding.dictionary.count) entries", found: "\(shape[2])")
        }
        (self.texts, steps) = (texts, shape[0] * shape[1])
    }

    /// The characters in the order of the steps.
    package func characters(
        in tensor: OutputTensor, isCancelled: () -> Bool = { false }
    ) throws(ObservationError) -> [TextCharacter] {
        guard tensor.values.count == steps * texts.count else {
            throw .unexpected(role: "output", expected: "[1, \(steps), \(texts.count)]", found: "\(tensor.shape)")
        }
        return try CTCDecoder.steps(tensor.values, classes: texts.count, isCancelled: isCancelled).map { step in
            TextCharacter(
                text: texts[step.index], confidence: step.confidence,
                middle: (Double(step.step) + 0.5) / Double(steps))
        }
    }
}
