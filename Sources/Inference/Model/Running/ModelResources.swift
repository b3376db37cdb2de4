internal import FlowControl

/// The resources that predictions run with: the compiled file, its infer requests and tensors, and the slots that limit
/// how many predictions use them. A pipeline shares those of its detector.
struct ModelResources: Sendable {
    let plan: ModelPlan
    let compiled: any CompiledModel
    let limiter: InFlightLimiter
    let requests: RequestPool
    let tensors: InputTensorPool
    /// The checks of the shapes that callers give to open axes.
    let shapeChecks: ShapeChecks
    /// The runtime of the file's format for inputs that the engine refuses; nil if the format has no other runtime.
    let fallback: Fallback?
    /// True if the engine returns numbers where the format's runtime returns NaN or infinities.
    let losesNonFinite: Bool
    /// The memory that the engine may keep for different input sizes.
    private let shapeMemory: DecodeBudget.Reservation

    /// - Parameters:
    ///   - batch: the same file compiled for several items; its memory is reserved as well.
    ///   - fallback: the runtime of the file's format.
    init(
        _ compiled: any CompiledModel, plan: ModelPlan, batch: BatchVariant?, configuration: ModelConfiguration,
        fallback: FallbackRuntime.Recipe? = nil, losesNonFinite: Bool = false
    ) throws(InferenceError) {
        self.plan = plan
        self.compiled = compiled
        let instances = configuration.instances ?? compiled.optimalRequestCount
        let slots = configuration.maxInFlight ?? Sizing.slots(requests: instances).value
        self.losesNonFinite = losesNonFinite
        self.fallback = fallback.map { Fallback($0, waiters: slots) }
        limiter = InFlightLimiter(
            configuration: LimiterConfiguration(
                limit: slots, queueCapacity: configuration.queueCapacity, maxWait: configuration.maxWait,
                policy: configuration.overloadPolicy, overloadTarget: configuration.overloadTarget))
        do throws(EngineError) {
            // One more than the number of slots, because the canary waits for a request without holding a slot.
            requests = try RequestPool(compiled, count: instances, waiters: slots + 1)
        } catch {
            throw .engine(error)
        }
        tensors = InputTensorPool(compiled: compiled, plans: plan.inputs, capacity: slots)
        shapeMemory = DecodeBudget.shared.reservation(compiled.shapeMemory + (batch?.compiled.shapeMemory ?? 0))
        shapeChecks = ShapeChecks(waiters: slots) { shapes in
            Result { () throws(EngineError) in try compiled.check(shapes) }
        }
    }
}
