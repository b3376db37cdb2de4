/// A number that is not configured, and the reason for its value.
public struct Derived<Value: Sendable & Hashable>: Sendable, Hashable {
    /// The number.
    public let value: Value
    /// One sentence that explains it to an operator, without a full stop.
    public let reason: String

    /// A number and its reason.
    public init(_ value: Value, because reason: String) {
        self.value = value
        self.reason = reason
    }
}
