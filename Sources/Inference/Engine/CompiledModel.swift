/// A model that is ready to run.
public protocol CompiledModel: Sendable {
    /// The inputs, in the file's order.
    var inputs: [TensorPort] { get }
    /// The outputs, in the file's order.
    var outputs: [TensorPort] { get }
    /// The number of requests in flight that keep the device busy.
    var optimalRequestCount: Int { get }
    /// True if it came from the cache of compiled models.
    var loadedFromCache: Bool { get }
    /// The devices that it runs on.
    var executionDevices: String { get }
    /// The properties of its execution on these devices.
    var execution: ExecutionProperties { get }

    /// Remarks for its user: devices that were tried in vain.
    var remarks: [String] { get }

    /// Bytes that it may keep of what it prepares for each size of inputs; 0 where all shapes are fixed, or nothing is
    /// kept.
    var shapeMemory: Int { get }

    /// Checks, before an inference, whether the model takes these shapes of inputs whose axes are open. Blocks for
    /// milliseconds.
    /// - Parameter shapes: by the index of the input; every axis fixed.
    func check(_ shapes: [Int: Shape]) throws(EngineError)

    /// Makes one request: the room for one inference at a time. Compiles the model again where an inference has left it
    /// unfit (``InferRequest/isFit``): blocks for so long.
    func makeRequest() throws(EngineError) -> any InferRequest

    /// Makes a tensor in memory that the engine reads without copying.
    func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor
}

extension CompiledModel {
    /// An engine need not report it.
    public var execution: ExecutionProperties { ExecutionProperties() }

    /// An engine may keep nothing.
    public var shapeMemory: Int { 0 }

    /// Most have none.
    public var remarks: [String] { [] }

    /// An engine may leave it to the inference.
    public func check(_ shapes: [Int: Shape]) throws(EngineError) {}
}

/// Memory of the engine for one input.
///
/// The owner writes into it, sets it as the input of a request, and must not use it until that request has completed.
public protocol EngineTensor: AnyObject, Sendable {
    /// The type of the elements.
    var elementType: ElementType { get }
    /// The shape; every axis fixed.
    var shape: Shape { get }
    /// The memory: valid as long as the tensor is.
    var bytes: UnsafeMutableRawBufferPointer { get }
}

extension ElementType {
    /// The bytes of a tensor of this type.
    /// - Throws: if an axis is open, or elements have no fixed size.
    func size(of shape: Shape) throws(EngineError) -> Int {
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
    /// Fills the memory with zeros. (What was never written may be numbers that make slow arithmetic.)
    func zero() { _ = bytes.initializeMemory(as: UInt8.self, repeating: 0) }
}
