/// The result of comparing the answers of a model's streams, before it serves, with those of one stream.
public enum StreamCheck: Sendable, Hashable {
    /// They are equal but for rounding.
    case equal
    /// They differ: the model is served with one stream.
    case oneStream(reason: String)
    /// The model's answers differ from one another on one stream.
    case random
    /// There is nothing to compare.
    case notCompared(reason: String)
    /// The comparison failed.
    case impossible(reason: String)

    /// The result's word in answers.
    package var name: String {
        switch self {
        case .equal: "equal"
        case .oneStream: "one_stream"
        case .random: "random"
        case .notCompared, .impossible: "not_compared"
        }
    }

    /// The reason of a result other than ``equal``.
    package var reason: String? {
        switch self {
        case .equal: nil
        case .oneStream(let reason), .notCompared(let reason), .impossible(let reason): reason
        case .random: "one stream answers the same input differently each time, as random operators do"
        }
    }

    /// The warning for the log and `ocelli check`; nil if there is nothing to warn of.
    var advice: String? {
        switch self {
        case .equal, .notCompared: nil
        case .oneStream(let reason): "runs with one stream: with several, \(reason)"
        case .random, .impossible: reason.map { "the answers of its streams were not compared: \($0)" }
        }
    }
}
