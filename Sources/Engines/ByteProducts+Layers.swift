internal import EngineAPI
internal import EngineImporters
internal import FileFormats
internal import ModelFacts

extension ByteProducts {
    /// The number of layers of a model that are computed with 8-bit integers; 0 where its file cannot be read, and for
    /// formats whose files are turned into floats. Blocks.
    package static func layers(of path: String) -> Int {
        func source(_ path: String) -> ByteSource? {
            (try? OpenFile(path)).map { file in ByteSource(count: file.size) { file.bytes($0) } }
        }
        switch ModelFormat(file: path) {
        case .tflite: return TFLiteFile.bytes(path).flatMap { TFLiteGraph($0) }?.integerLayers ?? 0
        case .openvino:
            guard case .success(let text) = BundleFile.read(path, maximum: OpenVINOReader.maximumBytes) else {
                return 0
            }
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
