public import Foundation

/// The available engines, for tests that run on each of them.
public enum TestEngines {
    /// ONNX Runtime's library, as unpacked by `make setup`.
    public static let onnxRuntime = SharedData.packageRoot.appendingPathComponent(
        ".deps/onnxruntime/lib/libonnxruntime.so.1")

    /// True if ONNX Runtime is available: the condition of `.enabled(if:)`.
    public static let hasONNXRuntime = FileManager.default.fileExists(atPath: onnxRuntime.path)

    /// The reason of a skipped test.
    public static let absence = "ONNX Runtime is not in .deps: run `make setup` with a network"

    /// The names of the engines, as in the setting `engine`.
    public static let names: [String] = {
        if !hasONNXRuntime { print("\(absence): tests that run on each engine run on OpenVINO only") }
        return ["openvino"] + (hasONNXRuntime ? ["onnxruntime"] : [])
    }()
}
