/// How an engine runs a compiled model, in its own words after compiling: what was asked for may be more than it can do.
public struct ExecutionProperties: Sendable, Hashable {
    /// The precision of the arithmetic, such as `f32` or `bf16`; nil where the engine does not tell.
    public var precision: String?
    /// The hint that it was compiled with, such as `THROUGHPUT`; nil where the engine does not tell.
    public var hint: String?
    /// Worker threads; nil where the engine does not tell.
    public var threads: Int?
    /// Predictions side by side; nil where the engine does not tell.
    public var streams: Int?

    /// Nothing is known.
    public init() {}
}
