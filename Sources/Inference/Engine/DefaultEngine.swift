/// The engine that runs models where nothing else is asked for. The only place that names one: another engine is another
/// implementation of ``Engine`` in a folder beside `OpenVINO`.
public enum DefaultEngine {
    /// The engine of this process. The first call loads its plugins: blocks.
    public static func shared() throws(EngineError) -> any Engine { try OpenVINOEngine.shared() }
}
