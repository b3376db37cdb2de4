/// The properties of a compiled model's execution, as the engine reports them: it may not support all that was
/// requested.
public struct ExecutionProperties: Sendable, Hashable {
    /// The precision of the arithmetic, such as `f32` or `bf16`; nil if the engine does not report it.
    public var precision: String?
    /// The hint that it was compiled with, such as `THROUGHPUT`; nil if the engine does not report it.
    public var hint: String?
    /// The number of worker threads; nil if the engine does not report it.
    public var threads: Int?
    /// The number of parallel predictions; nil if the engine does not report it.
    public var streams: Int?

    /// No properties are known.
    public init() {}
}
