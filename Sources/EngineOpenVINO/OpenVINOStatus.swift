internal import COpenVINO
internal import EngineAPI
internal import FlowControl

/// Calls a function of OpenVINO's C API, and throws an error with the engine's message for a status other than OK.
/// - Parameters:
///   - operation: the operation, as in "could not ...".
///   - kind: the kind of error for a failure of this call.
func checked(
    _ operation: @autoclosure () -> String,
    kind: EngineError.Kind = .failure,
    _ call: () -> ov_status_e
) throws(EngineError) {
    let status = call()
    guard status != OK else { return }
    // The message belongs to this thread's last failed call, so it must be read immediately.
    var detail = ""
    if let message = ov_get_last_err_msg() {
        detail = String(cString: message)
        ov_free(message)
    }
    if detail.contains("bad_alloc") { detail = "not enough memory (\(EngineMessage.summary(of: detail)))" }
    let hasNoThreads = detail.contains("Resource temporarily unavailable")
    if hasNoThreads { detail = HostResources.threadsUsedUp() }
    if detail.isEmpty, let info = ov_get_error_info(status) {
        detail = String(cString: info)
    }
    throw EngineError(
        kind: status == INFER_CANCELLED ? .cancelled : hasNoThreads ? .noThreads : kind,
        operation: operation(),
        detail: EngineMessage.summary(of: detail))
}

/// An object of the C API with the function that frees it: freed with the last reference.
///
/// Sendable: the pointer never changes, and OpenVINO's objects may be used from any thread; objects that two threads
/// must not use at the same time (infer requests) are guarded by the types that own their handles.
final class OpenVINOHandle: @unchecked Sendable {
    let pointer: OpaquePointer
    private let release: @Sendable (OpaquePointer?) -> Void
    /// The memory that the object refers to, if it does not belong to the engine: it outlives all objects that are
    /// created from this one.
    let memory: (any Sendable)?
    /// The constants of a model that keeps them in such memory; otherwise nil.
    var constants: ConstantsFile? { memory as? ConstantsFile }

    init(
        _ pointer: OpaquePointer, memory: (any Sendable)? = nil, free: @escaping @Sendable (OpaquePointer?) -> Void
    ) {
        self.pointer = pointer
        self.memory = memory
        release = free
    }

    // The members are released after this.
    deinit { release(pointer) }

    /// Calls a function that creates an object, checks its status, and takes ownership of the object.
    static func make(
        _ operation: @autoclosure () -> String,
        kind: EngineError.Kind = .failure,
        memory: (any Sendable)? = nil,
        free: @escaping @Sendable (OpaquePointer?) -> Void,
        _ call: (inout OpaquePointer?) -> ov_status_e
    ) throws(EngineError) -> OpenVINOHandle {
        var pointer: OpaquePointer?
        try checked(operation(), kind: kind) { call(&pointer) }
        guard let pointer else {
            throw EngineError(kind: kind, operation: operation(), detail: "it returned nothing")
        }
        return OpenVINOHandle(pointer, memory: memory, free: free)
    }
}
