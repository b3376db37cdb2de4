/// The result of `RequestParser.parse`.
public enum ParseResult: Sendable {
    /// The head is not complete: come back with the same bytes and more.
    case needMore
    /// A whole head; `consumed` bytes of the buffer are spent, and what follows is the body, or the next request.
    case head(RequestHead, consumed: Int)
}
