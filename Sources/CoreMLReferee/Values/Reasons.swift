/// The reason why the referee cannot judge a file, as the end of a sentence: "nobody has confirmed it: ...".
package struct ImpossibleJudgment: Error, Sendable, Hashable {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }
}

/// The reason why a row of inputs has no outputs that an engine must have.
package enum RowProblem: Error, Sendable, Hashable {
    /// The file says that such a row is an error.
    case refused(String)
    /// The file does not say what follows, or rounding decides it.
    case unjudged(String)
}
