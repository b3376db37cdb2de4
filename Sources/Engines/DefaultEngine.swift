public import EngineAPI
internal import EngineLiteRT
internal import EngineONNXRuntime
internal import EngineOpenVINO
internal import FileFormats
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

    /// The version of an engine that is opened at run time, such as `ONNX Runtime 1.28.0`; nil for OpenVINO.
    /// - Parameter path: the path of its library: the setting `onnxruntime_path` or `litert_path`.
    /// - Throws: the reason it cannot be used.
    package static func version(_ engine: EnginePreference, library path: String) throws(EngineError) -> String? {
        try runtimes.first { $0.preference == engine }?.open(path).version
    }

    /// The devices of this machine that the engines can use. Blocks.
    /// - Parameter libraries: the paths of engines' libraries: the settings `onnxruntime_path` and `litert_path`.
    /// - Throws: the reason OpenVINO, or a library that is named, cannot be used.
    package static func devices(libraries: [EnginePreference: String]) throws(EngineError) -> [ComputeDevice] {
        try choosing().availableDevices(libraries: libraries)
    }

    /// The engine of this process. The first call loads its plugins: blocks.
    public static func shared() throws(EngineError) -> any Engine { try choosing() }

    /// The runtimes of formats. Another one is another row.
    package static let runtimes = [
        FormatRuntime(
            .onnx, .onnxruntime, name: "ONNX Runtime", files: "ONNX files (.onnx)",
            referee: { engine, source in
                var referee = EngineReferee(engine)
                referee.variant = (engine as? ORTEngine)?.unoptimized
                referee.traits = ONNXTraits.read(source.path)
                referee.fault = ONNXTraits.fault(source)
                return referee
            }, fault: { ONNXTraits.fault($0) },
            open: { (path) throws(EngineError) in try ORTEngine(path: path) }),
        FormatRuntime(
            .tflite, .litert, name: "LiteRT", files: "TensorFlow Lite files (.tflite, .lite)",
            referee: { TFLiteReferee.make($0, $1) }, fault: { TFLiteReferee.fault($0) },
            open: { (path) throws(EngineError) in try LiteRTEngine(path: path) }),
    ]

    private static func choosing() throws(EngineError) -> ChoosingEngine {
        let target: any ImportTarget = try OpenVINOEngine.shared()
        return instance.withLock { instance in
            let engine =
                instance
                ?? ChoosingEngine(ImportingEngine(target), runtimes: runtimes, damage: ModelFileDamage.reason)
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
