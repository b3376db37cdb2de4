public import Foundation

/// The engines that are here, for tests that run on each of them.
public enum TestEngines {
    /// ONNX Runtime's library, as `make setup` unpacks it.
    public static let onnxRuntime = SharedData.packageRoot.appendingPathComponent(
        ".deps/onnxruntime/lib/libonnxruntime.so.1")

    /// True if ONNX Runtime is there: the condition of `.enabled(if:)`.
    public static let hasONNXRuntime = FileManager.default.fileExists(atPath: onnxRuntime.path)

    /// The words of a skipped test.
    public static let absence = "ONNX Runtime is not in .deps: run `make setup` with a network"

    /// Names of engines, as the setting `engine` has them.
    public static let names: [String] = {
        if !hasONNXRuntime { print("\(absence): tests that run on each engine run on OpenVINO only") }
        return ["openvino"] + (hasONNXRuntime ? ["onnxruntime"] : [])
    }()
}
