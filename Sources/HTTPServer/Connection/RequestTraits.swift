import HTTPWire

/// The properties of a request's head that the connection depends on.
package struct RequestTraits: Sendable, Hashable {
    package var isHead = false
    package var isHTTP10 = false
    package var keepAlive = true
    package var expectsContinue = false
    /// The length of the body; nil if it is chunked.
    package var bodyLength: UInt64? = 0

    package init(
        isHead: Bool = false, isHTTP10: Bool = false, keepAlive: Bool = true, expectsContinue: Bool = false,
        bodyLength: UInt64? = 0
    ) {
        self.isHead = isHead
        self.isHTTP10 = isHTTP10
        self.keepAlive = keepAlive
        self.expectsContinue = expectsContinue
        self.bodyLength = bodyLength
    }
}

extension RequestTraits {
    /// The traits of a head.
    init(_ head: RequestHead) {
        let length: UInt64? =
            switch head.framing {
            case .none: 0
            case .length(let length): length
            case .chunked: nil
            }
        self.init(
            isHead: head.method == .head, isHTTP10: head.version < .http11, keepAlive: head.keepAlive,
            expectsContinue: head.expectsContinue, bodyLength: length)
    }
}
