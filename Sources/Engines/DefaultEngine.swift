public import EngineAPI
internal import EngineONNXRuntime
internal import EngineOpenVINO
internal import Synchronization

/// The engines that run models by default, with the importers before the first one. Only this file names them: another
/// engine is another implementation of ``Engine``, or of ``ImportTarget``, in a target next to `EngineOpenVINO`.
public enum DefaultEngine {
    private static let instance = Mutex<ChoosingEngine?>(nil)

    /// Limits the total memory in bytes of ONNX Runtime's inferences, for the processor and for each graphics
    /// processor. Must be called before the first model is loaded.
    package static func limitMemory(to bytes: Int) {
        ORTMemory.maximum.store(bytes, ordering: .relaxed)
        ORTMemory.deviceLimit.store(bytes, ordering: .relaxed)
    }

    /// The version of ONNX Runtime.
    /// - Parameter path: the setting `onnxruntime_path`.
    /// - Throws: the reason it cannot be used.
    package static func onnxRuntime(_ path: String) throws(EngineError) -> String { try ORTEngine(path: path).version }

    /// The devices of this machine that the engines can use. Blocks.
    /// - Parameter path: the setting `onnxruntime_path`.
    /// - Throws: the reason OpenVINO, or a library that `path` names, cannot be used.
    package static func devices(onnxRuntime path: String) throws(EngineError) -> [ComputeDevice] {
        try choosing().availableDevices(library: path)
    }

    /// The engine of this process. The first call loads its plugins: blocks.
    public static func shared() throws(EngineError) -> any Engine { try choosing() }

    private static func choosing() throws(EngineError) -> ChoosingEngine {
        let target: any ImportTarget = try OpenVINOEngine.shared()
        return instance.withLock { instance in
            let engine =
                instance
                ?? ChoosingEngine(ImportingEngine(target)) { (path) throws(EngineError) in try ORTEngine(path: path) }
            instance = engine
            return engine
        }
    }
}

extension ComputeDevice {
    /// The devices of this machine that the built-in engine can use. Blocks.
    public static var available: [ComputeDevice] {
        get throws(EngineError) { try DefaultEngine.shared().availableDevices() }
    }
}
