/// What loading a model was like.
public struct LoadReport: Sendable, Hashable {
    /// Nanoseconds for reading the bundle and the model file, for compiling it, and for the first prediction.
    public var read: UInt64 = 0, compile: UInt64 = 0, warmUp: UInt64 = 0
    /// Whether the compiled model came from the cache.
    public var isCached = false
    /// The devices that it runs on.
    public var device = ""

    /// Nanoseconds in all.
    public var total: UInt64 { read &+ compile &+ warmUp }
}
