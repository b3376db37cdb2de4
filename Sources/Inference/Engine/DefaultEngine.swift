internal import Synchronization

/// The engine that runs models by default, with the importers before it. Only this file names an engine: another one is
/// another implementation of ``ImportTarget`` in a folder next to `OpenVINO`.
public enum DefaultEngine {
    private static let instance = Mutex<ImportingEngine?>(nil)

    /// The engine of this process. The first call loads its plugins: blocks.
    public static func shared() throws(EngineError) -> any Engine {
        let target: any ImportTarget = try OpenVINOEngine.shared()
        return instance.withLock { instance in
            let engine = instance ?? ImportingEngine(target)
            instance = engine
            return engine
        }
    }
}
