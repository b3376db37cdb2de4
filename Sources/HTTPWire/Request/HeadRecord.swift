/// What the parser found out about a head, but for its text and its fields.
struct HeadRecord: Sendable, BitwiseCopyable {
    var target: TargetLayout
    var version: HTTPVersion
    var framing: BodyFraming
    var keepAlive: Bool
    var expectsContinue: Bool
    var fieldCount: UInt32
}
