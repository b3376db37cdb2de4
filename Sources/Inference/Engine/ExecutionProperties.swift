/// The execution of a compiled model, as the engine reports it after compiling: it may not support all that was
/// requested.
public struct ExecutionProperties: Sendable, Hashable {
    /// The precision of the arithmetic, such as `f32` or `bf16`; nil if the engine does not report it.
    public var precision: String?
    /// The hint that it was compiled with, such as `THROUGHPUT`; nil if the engine does not report it.
    public var hint: String?
    /// Worker threads; nil if the engine does not report it.
    public var threads: Int?
    /// Parallel predictions; nil if the engine does not report it.
    public var streams: Int?

    /// Nothing is known.
    public init() {}
}
