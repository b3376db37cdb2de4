internal import CONNXRuntime
package import EngineAPI
internal import FlowControl
internal import FoundationEssentials
internal import Glibc
internal import ImagePipeline

/// Runs ONNX files with ONNX Runtime, through its C API.
package final class ORTEngine: Engine {
    let library: ORTLibrary
    package var version: String { "ONNX Runtime " + library.version }
    /// The version is not enough, because users may install their own library (`onnxruntime_path`).
    package var build: String { library.digest.text }
    /// False, because all infer requests run one session.
    package var comparesStreams: Bool { false }
    private let optimizes: Bool

    /// - Parameter path: the path of the library, as in the setting `onnxruntime_path`.
    /// - Throws: the reason it cannot be used, and the remedy.
    package init(path: String) throws(EngineError) {
        library = try ORTLibrary.shared(path)
        optimizes = true
    }

    private init(library: ORTLibrary, optimizes: Bool) {
        self.library = library
        self.optimizes = optimizes
    }

    /// This library without optimizations of graphs: it runs each node by the node's own kernel, and computes
    /// between QuantizeLinear and DequantizeLinear in floating point.
    package var unoptimized: ORTEngine { ORTEngine(library: library, optimizes: false) }

    package func availableDevices() throws(EngineError) -> [ComputeDevice] {
        var devices = [
            ComputeDevice(name: "CPU", fullName: "\(version), on the processor", capabilities: ["FP32", "INT8"])
        ]
        // A library that was built for a provider may still be unable to use it.
        if try library.providers().contains(ORTProvider.cuda), (try? ORTProvider.gpu(0).options(library)) != nil {
            devices.append(
                ComputeDevice(name: "gpu:0", fullName: "\(version), CUDA", capabilities: ["FP32", "FP16", "INT8"]))
        }
        return devices
    }

    package func read(_ source: ModelSource) throws(EngineError) -> any ModelFile {
        do throws(EngineError) {
            return try ORTModelFile(source.path, library: library, optimizes: optimizes)
        } catch {
            // Some optimizations make nodes that no kernel runs.
            guard optimizes, let file = try? unoptimized.read(source) else { throw error }
            return file
        }
    }
}

extension ORTLibrary {
    /// The execution providers that the library was built with.
    func providers() throws(EngineError) -> [String] {
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        var count: Int32 = 0
        try check("list its providers", ort_get_available_providers(api, &names, &count))
        guard let names else { return [] }
        defer { _ = take(ort_release_available_providers(api, names, count)) }
        return (0..<Int(count)).compactMap { index in names[index].map { String(cString: $0) } }
    }
}
