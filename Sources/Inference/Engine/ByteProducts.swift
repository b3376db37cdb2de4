internal import FileFormats
internal import FoundationEssentials
internal import Glibc
internal import ModelFacts
internal import SystemSupport

/// Checks whether the engine's kernels saturate sums of byte products at 16 bits, which they do on processors without
/// VNNI: scores of models that compute with 8-bit integers may then be wrong.
package enum ByteProducts {
    /// The reason VNNI cannot be used: a setting, or the processor; nil if sums are exact. Kernels for other
    /// architectures do not saturate.
    static var reasonWithoutVNNI: String? {
        #if arch(x86_64)
            for name in ["ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"] {
                guard let value = getenv(name) else { continue }
                let limit = String(cString: value)
                if lacksVNNI(limit) { return "the environment variable \(name) (\(limit)) switches VNNI off" }
            }
            return Processor.addsByteProductsExactly ? nil : "this processor has no VNNI"
        #else
            return nil
        #endif
    }

    /// True if the instruction sets up to a limit do not include VNNI (oneDNN, "CPU Dispatcher Control"). Unknown names
    /// count as no limit.
    package static func lacksVNNI(_ limit: String) -> Bool {
        ["SSE41", "AVX", "AVX2", "AVX512_CORE"].contains(limit.uppercased())
    }

    /// The number of layers of a model that compute with 8-bit integers; 0 if its file cannot be read, and for formats
    /// whose weights are converted to floats. Blocks.
    package static func layers(of path: String) -> Int {
        func source(_ path: String) -> ByteSource? {
            (try? OpenFile(path)).map { file in ByteSource(count: file.size) { file.bytes($0) } }
        }
        switch ModelFormat(file: path) {
        case .tflite: return TFLiteFile.bytes(path).flatMap { TFLiteGraph($0) }?.integerLayers ?? 0
        case .openvino:
            guard case .success(let text) = BundleFile.read(path, most: OpenVINOReader.mostBytes) else { return 0 }
            return OpenVINOReader.integerLayers([UInt8](text))
        case .onnx: return source(path).map(ONNXReader.integerLayers) ?? 0
        case .paddle, .tensorflow, .coreml, nil:
            return source(path + "/saved_model.pb").map(TensorFlowReader.integerLayers) ?? 0
        }
    }

    /// The sentence for the log and `ocelli check`; nil for a model without such layers.
    package static func advice(layers: Int, because reason: String) -> String? {
        guard layers > 0 else { return nil }
        return
            "\(layers) of its layers \(layers == 1 ? "computes" : "compute") with 8-bit integers, and \(reason): the engine then cuts "
            + "sums off at 16 bits, and scores can be wrong. Use a float version of the model, or a processor with VNNI (Intel since "
            + "2019, AMD since Zen 4)"
    }
}
