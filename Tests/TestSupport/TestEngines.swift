public import Foundation

/// The available engines, for tests that run on each of them.
public enum TestEngines {
    /// ONNX Runtime's library, as unpacked by `make setup`.
    public static let onnxRuntime = SharedData.packageRoot.appendingPathComponent(
        ".deps/onnxruntime/lib/libonnxruntime.so.1")
    /// LiteRT's library, as unpacked by `make setup`.
    public static let liteRT = SharedData.packageRoot.appendingPathComponent(".deps/litert/lib/libLiteRt.so")

    /// True if ONNX Runtime is available: the condition of `.enabled(if:)`.
    public static let hasONNXRuntime = FileManager.default.fileExists(atPath: onnxRuntime.path)
    /// True if LiteRT is available.
    public static let hasLiteRT = FileManager.default.fileExists(atPath: liteRT.path)

    /// The reason of a skipped test of ONNX Runtime.
    public static let absence = "ONNX Runtime is not in .deps: run `make setup` with a network"
    /// The reason of a skipped test of LiteRT.
    public static let liteRTAbsence = "LiteRT is not in .deps: run `make setup` with a network"

    /// The names of the engines, as in the setting `engine`.
    public static let names: [String] = {
        var names = ["openvino"]
        for (name, isThere, absence) in [
            ("onnxruntime", hasONNXRuntime, absence), ("litert", hasLiteRT, liteRTAbsence),
        ] {
            if isThere { names.append(name) } else { print("\(absence): tests that run on each engine leave it out") }
        }
        return names
    }()

    /// The folder of models that has the digits classifier, `digits`, in a format that the engine runs.
    public static func models(for engine: String?) -> URL {
        SharedData.packageRoot.appendingPathComponent(engine == "litert" ? "Tests/Fixtures/litert" : "models")
    }
}
