/// The engine that runs models by default. Only this file names one: another engine is another implementation of ``Engine`` in
/// a folder next to `OpenVINO`.
public enum DefaultEngine {
    /// The engine of this process. The first call loads its plugins: blocks.
    public static func shared() throws(EngineError) -> any Engine { try OpenVINOEngine.shared() }
}
