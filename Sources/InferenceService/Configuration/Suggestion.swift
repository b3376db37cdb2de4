internal import Inference

/// What a person probably meant, for the command line.
package enum Suggestion {
    /// `; did you mean "NAME"?`, to be put behind a message; empty when no name is near.
    package static func hint(for word: String, among names: [String]) -> String {
        Spelling.hint(for: word, among: names)
    }
}
