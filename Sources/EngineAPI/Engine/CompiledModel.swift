/// A model that is ready to run.
public protocol CompiledModel: Sendable {
    /// The inputs, in the file's order.
    var inputs: [TensorPort] { get }
    /// The outputs, in the file's order.
    var outputs: [TensorPort] { get }
    /// The number of requests in flight that keep the device busy.
    var optimalRequestCount: Int { get }
    /// True if it was read from the cache of compiled models.
    var loadedFromCache: Bool { get }
    /// The devices that it runs on.
    var executionDevices: String { get }
    /// The properties of its execution on these devices.
    var execution: ExecutionProperties { get }

    /// Remarks for the user: devices that were tried without success.
    var remarks: [String] { get }

    /// The maximum size in bytes of the prepared data that it keeps for different input sizes; 0 if all shapes are
    /// fixed, or nothing is kept.
    var shapeMemory: Int { get }

    /// Checks, before an inference, whether the model accepts these shapes of inputs with open axes. Blocks for
    /// milliseconds.
    /// - Parameter shapes: by the index of the input; every axis is fixed.
    func check(_ shapes: [Int: Shape]) throws(EngineError)

    /// Creates a request: the resources for one inference at a time. Compiles the model again if an inference has left
    /// it unusable (``InferRequest/isFit``), and blocks during that time.
    func makeRequest() throws(EngineError) -> any InferRequest

    /// Creates a tensor in memory that the engine reads without copying.
    func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor
}

extension CompiledModel {
    /// The default for engines that report no properties.
    public var execution: ExecutionProperties { ExecutionProperties() }

    /// The default for engines that keep no data.
    public var shapeMemory: Int { 0 }

    /// The default: no remarks.
    public var remarks: [String] { [] }

    /// The default for engines that check shapes only during inference.
    public func check(_ shapes: [Int: Shape]) throws(EngineError) {}
}

/// Memory of the engine for one input.
///
/// The owner writes into it, sets it as the input of a request, and must not use it until that request has completed.
public protocol EngineTensor: AnyObject, Sendable {
    /// The type of the elements.
    var elementType: ElementType { get }
    /// The shape; every axis is fixed.
    var shape: Shape { get }
    /// The memory: valid as long as the tensor is.
    var bytes: UnsafeMutableRawBufferPointer { get }
}

extension ElementType {
    /// The size in bytes of a tensor of this type.
    /// - Throws: if an axis is open, or elements have no fixed size.
    package func size(of shape: Shape) throws(EngineError) -> Int {
        guard let count = shape.elementCount, byteCount > 0,
            case let (size, overflow) = count.multipliedReportingOverflow(by: byteCount), !overflow
        else {
            throw EngineError(
                kind: .failure, operation: "create a tensor of shape \(shape) of \(rawValue)",
                detail: "its size is unknown")
        }
        return size
    }
}

extension EngineTensor {
    /// Fills the memory with zeros. (Uninitialized numbers can slow down the arithmetic.)
    package func zero() { _ = bytes.initializeMemory(as: UInt8.self, repeating: 0) }
}
