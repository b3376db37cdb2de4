/// A value that is derived instead of configured, with the reason for it.
public struct Derived<Value: Sendable & Hashable>: Sendable, Hashable {
    /// The value.
    public let value: Value
    /// A sentence for operators, without a full stop.
    public let reason: String

    /// A value and its reason.
    public init(_ value: Value, because reason: String) {
        self.value = value
        self.reason = reason
    }
}
