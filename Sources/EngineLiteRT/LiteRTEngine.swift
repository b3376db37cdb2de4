package import EngineAPI

/// Runs TensorFlow Lite files with LiteRT, through its C API.
package final class LiteRTEngine: Engine {
    /// The kernels that compute.
    package enum Kernels: Sendable {
        /// XNNPACK's, where it has them.
        case xnnpack
        /// LiteRT's own only: slower, and a yardstick for the effects of rounding.
        case builtin
    }

    private let library: LiteRTLibrary
    private let kernels: Kernels
    package var version: String { library.version.isEmpty ? "LiteRT" : "LiteRT " + library.version }
    /// The version is not enough, because users may install their own library (`litert_path`).
    package var build: String { library.digest.text }
    /// False, because all infer requests run the same kernels.
    package var comparesStreams: Bool { false }

    /// - Parameter path: the path of the library, as in the setting `litert_path`.
    /// - Throws: the reason it cannot be used, and the remedy.
    package init(path: String) throws(EngineError) {
        library = try LiteRTLibrary.shared(path)
        kernels = .xnnpack
    }

    private init(_ library: LiteRTLibrary, kernels: Kernels) {
        self.library = library
        self.kernels = kernels
    }

    /// This engine with other kernels.
    package func with(_ kernels: Kernels) -> LiteRTEngine { LiteRTEngine(library, kernels: kernels) }

    package func availableDevices() throws(EngineError) -> [ComputeDevice] {
        [ComputeDevice(name: "CPU", fullName: "\(version), on the processor", capabilities: ["FP32", "INT8"])]
    }

    package func read(_ source: ModelSource) throws(EngineError) -> any ModelFile {
        guard ["CPU", "AUTO"].contains(source.device.uppercased()) else {
            throw EngineError(
                kind: .invalidModel, operation: "run the model file with LiteRT",
                detail: "it runs on the processor only, and the device is \(source.device)")
        }
        return try LiteRTModelFile(source.path, library: library, kernels: kernels)
    }
}
