/// The result of `RequestParser.parse`.
public enum ParseResult: Sendable {
    /// The head is incomplete: call again with the same bytes and more.
    case needMore
    /// A complete head. `consumed` bytes of the buffer are used; the body or the next request follows.
    case head(RequestHead, consumed: Int)
}
