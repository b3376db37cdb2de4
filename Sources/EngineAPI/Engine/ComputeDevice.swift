/// A device that models can run on (Core ML's `MLComputeDevice`).
public struct ComputeDevice: Sendable, Hashable {
    /// The engine's name: `CPU`, `GPU.0`.
    public let name: String
    /// The full name of the hardware.
    public let fullName: String
    /// Its supported number formats: `FP32`, `INT8`, `BF16`...
    public let capabilities: [String]

    /// A device with the given properties.
    public init(name: String, fullName: String, capabilities: [String]) {
        self.name = name
        self.fullName = fullName
        self.capabilities = capabilities
    }
}
