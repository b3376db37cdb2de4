internal import COpenVINO
internal import EngineAPI
internal import Synchronization

/// One infer request of OpenVINO, with its callback.
///
/// `@unchecked Sendable`: the ownership rule of ``InferRequest`` keeps all calls except ``cancel()`` to one thread at a
/// time, and only they access the mutable state, `giving` and `hasRun`; `ov_infer_request_cancel` may be called from
/// any thread.
final class OpenVINORequest: InferRequest, @unchecked Sendable {
    private let network: OpenVINONetwork
    private let handle: OpenVINOHandle
    private let callback: OpenVINOCallback
    private let function: UnsafeMutablePointer<ov_callback_t>

    /// False if shapes are known only when the model runs: if the CPU plugin stops an inference between two layers,
    /// earlier layers have the shapes of this run and later layers those of the previous one, and the stream's next
    /// inferences, of any client, fail.
    private var canStopEarly: Bool { !network.isDynamic }
    /// True after the first inference, in which the engine arranges the weights of a model with dynamic shapes.
    private var hasRun = false
    private var giving: ConstantsFile.PageRelease?

    init(_ network: OpenVINONetwork) throws(EngineError) {
        self.network = network
        let handle = try OpenVINOHandle.make(
            "create an infer request", memory: network.handle.memory, free: ov_infer_request_free
        ) { ov_compiled_model_create_infer_request(network.handle.pointer, &$0) }
        self.handle = handle
        let callback = OpenVINOCallback(network.isDynamic ? network : nil, handle)
        self.callback = callback
        // OpenVINO keeps the address of the structure, not a copy of it: it must live as long as the request.
        function = .allocate(capacity: 1)
        function.initialize(
            to: ov_callback_t(
                callback_func: { argument in
                    guard let argument else { return }
                    Unmanaged<OpenVINOCallback>.fromOpaque(argument).takeUnretainedValue().fire()
                },
                args: Unmanaged.passUnretained(callback).toOpaque()))
        try checked("set a callback") { ov_infer_request_set_callback(handle.pointer, function) }
    }

    deinit {
        giving?.end()
        // No inference is running (its owner has waited for it), so nothing reads the structure any more, although the
        // request itself is freed later.
        function.deinitialize(count: 1)
        function.deallocate()
    }

    func setInput(_ index: Int, to tensor: any EngineTensor) throws(EngineError) {
        guard let tensor = tensor as? OpenVINOTensor else {
            throw EngineError(kind: .failure, operation: "use an input", detail: "the tensor belongs to another engine")
        }
        try checked("set input \(index) of shape \(tensor.shape)") {
            ov_infer_request_set_input_tensor_by_index(handle.pointer, index, tensor.handle.pointer)
        }
    }

    func start(completion: @escaping @Sendable () -> Void) throws(EngineError) {
        if !canStopEarly, !hasRun, let constants = handle.constants { giving = ConstantsFile.PageRelease(constants) }
        hasRun = true
        callback.arm(completion)
        do throws(EngineError) {
            try checked("start an inference") { ov_infer_request_start_async(handle.pointer) }
        } catch {
            callback.disarm()
            endPageRelease()
            throw error
        }
    }

    private func endPageRelease() {
        giving?.end()
        giving = nil
    }

    func finish() throws(EngineError) {
        defer { endPageRelease() }
        // OpenVINO calls back before it marks the request as done and restores its callback: a request that is started
        // again in between would lose its next callback. Waiting here (a few microseconds, until its thread returns
        // from the callback) closes that gap, and returns the status, which the callback does not have.
        guard network.isDynamic else {
            return try checked("run the inference") { ov_infer_request_wait(handle.pointer) }
        }
        try network.outcome(of: callback).get()
    }

    var isFit: Bool { network.isFit }

    func cancel() {
        guard canStopEarly else { return }
        // Best effort by contract: an error, for a request that has just ended, is ignored.
        _ = ov_infer_request_cancel(handle.pointer)
    }

    func withOutput<R>(_ index: Int, _ body: (Shape, UnsafeRawBufferPointer) -> R) throws(EngineError) -> R {
        let tensor = try OpenVINOHandle.make("reach output \(index)", free: ov_tensor_free) {
            ov_infer_request_get_output_tensor_by_index(handle.pointer, index, &$0)
        }
        var shape = ov_shape_t()
        // The C API returns an error for a shape without axes: such a tensor is a single value.
        let hasAxes = ov_tensor_get_shape(tensor.pointer, &shape) == OK
        defer { if hasAxes { ov_shape_free(&shape) } }
        var size = 0
        try checked("read the size of output \(index)") { ov_tensor_get_byte_size(tensor.pointer, &size) }
        var data: UnsafeMutableRawPointer?
        try checked("access the memory of output \(index)") { ov_tensor_data(tensor.pointer, &data) }
        return body(hasAxes ? Shape(shape) : [], UnsafeRawBufferPointer(start: data, count: data == nil ? 0 : size))
    }

    func profile() throws(EngineError) -> [LayerProfile] {
        var list = ov_profiling_info_list_t()
        try checked("read the profile") { ov_infer_request_get_profiling_info(handle.pointer, &list) }
        defer { ov_profiling_info_list_free(&list) }
        return (0..<list.size).map { index in
            let info = list.profiling_infos[index]
            return LayerProfile(
                name: info.node_name.map { String(cString: $0) } ?? "",
                type: info.node_type.map { String(cString: $0) } ?? "",
                execution: info.exec_type.map { String(cString: $0) } ?? "",
                microseconds: info.real_time)
        }
    }
}
