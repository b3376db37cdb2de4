/// The form in which an answer is sent.
package struct AnswerPlan: Sendable, Hashable {
    /// False: `Connection: close`.
    package let keepAlive: Bool
    /// Answers HTTP/1.0 clients that asked for it with `Connection: keep-alive`.
    package let sayKeepAlive: Bool
    /// The request was HEAD: the length of the body is sent, the body is not.
    package let omitBody: Bool
}
