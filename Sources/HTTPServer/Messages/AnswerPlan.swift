/// The way an answer is sent.
package struct AnswerPlan: Sendable, Hashable {
    /// False if the answer has `Connection: close`.
    package let keepAlive: Bool
    /// True if the answer has `Connection: keep-alive`, for an HTTP/1.0 client that asked for it.
    package let sayKeepAlive: Bool
    /// True for HEAD: the body's length is sent, the body is not.
    package let omitBody: Bool
}
