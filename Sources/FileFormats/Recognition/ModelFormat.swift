/// The format of a model file, derived from the extension of its name, ignoring case.
package enum ModelFormat: String, Sendable, CaseIterable {
    case onnx, tflite, openvino, paddle, tensorflow, coreml

    /// The extensions of model files. The first one is that which the engine recognizes.
    package var fileEndings: [String] {
        switch self {
        case .onnx: [".onnx"]
        case .tflite: [".tflite", ".lite"]
        case .openvino: [".xml"]
        case .paddle: [".pdmodel"]
        case .tensorflow: [".pb"]
        case .coreml: [".mlmodel"]
        }
    }

    /// Core ML's packages and compiled models, which are folders.
    package static let package = ".mlpackage", compiled = ".mlmodelc"

    /// The extensions of folders that are model files.
    package static let folderEndings = [package, compiled]

    /// The extensions of weight files, which are next to a model file and have its name.
    package var weightEndings: [String] {
        switch self {
        case .onnx: [".onnx.data", ".onnx_data"]
        case .openvino: [".bin", ".mapping"]
        case .paddle: [".pdiparams", ".pdiparams.info"]
        case .tflite, .tensorflow, .coreml: []
        }
    }

    /// True if files of the format may be text: OpenVINO's are XML, Paddle's may be JSON, TensorFlow's protobuf text.
    package var mayBeText: Bool {
        switch self {
        case .openvino, .paddle, .tensorflow: true
        case .onnx, .tflite, .coreml: false
        }
    }

    /// The format of a file, by its name; nil if the name is not that of a model file.
    package init?(file name: some StringProtocol) {
        let format = Self.allCases.first { format in format.fileEndings.contains { name.hasEnding($0) } }
        guard let format else { return nil }
        self = format
    }

    /// The format of a file or folder. A SavedModel is a folder of any name.
    package init(path: some StringProtocol) {
        self = Self.folderEndings.contains { path.hasEnding($0) } ? .coreml : Self(file: path) ?? .tensorflow
    }
}

extension StringProtocol {
    /// True if it ends with `ending`, a lower-case ASCII text, ignoring case.
    package func hasEnding(_ ending: String) -> Bool {
        utf8.count >= ending.utf8.count
            && utf8.suffix(ending.utf8.count).elementsEqual(ending.utf8) { byte, lower in
                (byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte) == lower
            }
    }
}
