/// Files that are not supported models, and a remedy for each: files of training frameworks and of other engines,
/// recognized by name; and files left in place of a model by a repository, a download or an archive, recognized by
/// their first bytes.
package enum ForeignFile {
    // MARK: Names

    /// The format of a file with this name, and a remedy; nil if the name does not identify it.
    package static func advice(for name: String) -> String? {
        formats.first { $0.endings.contains { name.hasEnding($0) } }?.advice
    }

    private static let formats: [(endings: [String], advice: String)] = [
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

    // MARK: First bytes

    /// The number of bytes from the start of a file that suffice.
    package static let headSize = 512

    /// The kind of file and a remedy, as text to follow its name in a message; nil if the file may be a model.
    /// - Parameters:
    ///   - head: the first bytes of the file.
    ///   - isBinary: true if models of the file's format are never text.
    package static func reason(_ head: [UInt8], isBinary: Bool) -> String? {
        if head.isEmpty { return "is empty: copy or download it again" }
        func has(_ text: String, at place: Int = 0) -> Bool { head.dropFirst(place).starts(with: text.utf8) }
        if has("version https://git-lfs.github.com/spec/") {
            return "is a Git LFS pointer, and not the file itself: fetch that with `git lfs pull`"
        }
        if head.starts(with: [0x1F, 0x8B]) { return "is compressed with gzip: unpack it with gunzip" }
        if has("PK\u{3}\u{4}") { return "is a zip archive: unpack it, and serve the file or folder in it" }
        if has("ustar", at: 257) { return "is a tar archive: unpack it, and serve the file or folder in it" }
        if has("book\0\0\0\0mark\0\0\0\0") {
            return "is a macOS alias, which only the Mac that made it can follow: copy the file itself"
        }
        if head.starts(with: [0, 5, 0x16, 7, 0, 2, 0, 0]) {
            return
                "holds attributes of a Mac's file (AppleDouble), and not the file itself: copy that, and delete this one"
        }
        let text = String(decoding: head, as: UTF8.self).drop { $0.isWhitespace }.prefix(20).lowercased()
        if text.hasPrefix("<!doctype html") || text.hasPrefix("<html") {
            return "is a web page: download the file itself"
        }
        return isBinary && isText(head) ? "is a text file, and not a model: copy or download the model again" : nil
    }

    /// True if the only control characters are those of lines of text; a character may be cut off at the end.
    private static func isText(_ head: [UInt8]) -> Bool {
        let isPlain = head.allSatisfy { $0 >= 0x20 && $0 != 0x7F || (0x09...0x0D).contains($0) }
        return isPlain && (0..<4).contains { String(validating: head.dropLast($0), as: UTF8.self) != nil }
    }
}
