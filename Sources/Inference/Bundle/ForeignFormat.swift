/// Model files of formats that are not read here, known by their names, and how each becomes one that is: what people have first is
/// often the file of a training framework.
package enum ForeignFormat {
    /// The format of such a file, and what to do with it; nil where the name does not tell.
    package static func advice(for name: String) -> String? {
        let name = name.lowercased()
        return formats.first { $0.extensions.contains { name.hasSuffix($0) } }?.advice
    }

    /// The first such file in a folder and what to do with it, to be put behind a sentence; empty where there is none. Reads the folder:
    /// blocks.
    static func note(on folder: String) -> String {
        for name in ((try? FolderReader.disk.names(folder)) ?? []).sorted() {
            if let advice = advice(for: name) { return "; \(name) is not supported (\(advice))" }
        }
        return ""
    }

    private static let formats: [(extensions: [String], advice: String)] = [
        ([".pt", ".pth", ".torchscript", ".mar"], "PyTorch: export the model to ONNX with torch.onnx.export"),
        (
            [".safetensors", "pytorch_model.bin"],
            "weights without a network: export the model to ONNX, for example `optimum-cli export onnx --model FOLDER OUTPUT`"
        ),
        ([".ckpt"], "a training checkpoint: export the model to ONNX or as a SavedModel"),
        ([".h5", ".hdf5", ".keras"], "Keras: export the model as a SavedModel with model.export(\"NAME\")"),
        (
            [".engine", ".plan", ".trt"],
            "TensorRT, for one type of GPU: use the ONNX file that it was built from"
        ),
        ([".ort"], "ONNX Runtime's own format: use the .onnx file that it was made from"),
        (
            [".pkl", ".pickle", ".joblib"],
            "a pickled Python object: convert it to Core ML (coremltools.converters.sklearn) or export it to ONNX"
        ),
        ([".caffemodel", ".prototxt"], "Caffe: convert the model to ONNX"),
        (
            [".mnn", ".ncnn", ".rknn", ".hef"],
            "for another engine: use the ONNX or TensorFlow Lite file that it was made from"
        ),
        ([".gguf", ".ggml"], "a language model, which Ocelli does not serve"),
        ([".zip", ".tar", ".tar.gz", ".tgz", ".7z"], "an archive: unpack it"),
    ]
}
