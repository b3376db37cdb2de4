/// The result of comparing the answers of several streams of a model with those of one stream, before it serves.
public enum StreamCheck: Sendable, Hashable {
    /// The answers are equal except for rounding.
    case equal
    /// The answers differ: the model is served with one stream.
    case oneStream(reason: String)
    /// The answers of one stream to the same input differ from one another.
    case random
    /// No comparison was needed or possible.
    case notCompared(reason: String)
    /// The comparison failed.
    case impossible(reason: String)

    /// The result as a word in JSON answers.
    package var name: String {
        switch self {
        case .equal: "equal"
        case .oneStream: "one_stream"
        case .random: "random"
        case .notCompared, .impossible: "not_compared"
        }
    }

    /// The reason for a result other than ``equal``; nil for that.
    package var reason: String? {
        switch self {
        case .equal: nil
        case .oneStream(let reason), .notCompared(let reason), .impossible(let reason): reason
        case .random: "one stream answers the same input differently each time, as random operators do"
        }
    }

    /// The warning for the log and `ocelli check`; nil if no warning is needed.
    var advice: String? {
        switch self {
        case .equal, .notCompared: nil
        case .oneStream(let reason): "runs with one stream: with several, \(reason)"
        case .random, .impossible: reason.map { "the answers of its streams were not compared: \($0)" }
        }
    }
}
