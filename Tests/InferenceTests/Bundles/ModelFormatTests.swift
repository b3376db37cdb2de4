import FileFormats
import Foundation
import Inference
internal import Repository
import TestSupport
import Testing

/// The formats of model files, by the extensions of their names: the same wherever a name is examined.
@Suite struct ModelFormatTests {
    @Test(
        "the ending of a file name tells the model format, in upper and lower case",
        arguments: [
            ("m.onnx", ModelFormat.onnx), ("m.tflite", .tflite), ("m.lite", .tflite), ("m.xml", .openvino),
            ("m.pdmodel", .paddle), ("m.pb", .tensorflow), ("m.mlmodel", .coreml), ("a.b/m.v2.ONNX", .onnx),
            ("M.TFLite", .tflite), ("M.LITE", .tflite), ("M.XML", .openvino), ("M.MLMODEL", .coreml),
        ] as [(String, ModelFormat)])
    func theEndingTellsTheFormatInAnyCase(_ name: String, _ expected: ModelFormat) {
        #expect(ModelFormat(file: name) == expected)
        #expect(ModelFormat(path: name) == expected)
        #expect(ModelBundle.isModelFile(name))
        let last = name.split(separator: "/").last ?? ""
        #expect(ModelBundle.servedName(of: name) == last.split(separator: ".").dropLast().joined(separator: "."))
    }

    @Test(
        "file names with other endings are not model files",
        arguments: ["onnx", "m.onnx2", "m.txt", "", "m.onnx/", "m.mlpackage", "m.ｌite", "saved_model"])
    func otherNamesAreNoModelFiles(_ name: String) {
        #expect(ModelFormat(file: name) == nil)
        #expect(!ModelBundle.isModelFile(name))
    }

    /// Core ML's packages and compiled models are folders, and a SavedModel is a folder with any name.
    @Test(
        "the name of a folder tells Core ML formats by ending, and any other folder is a SavedModel",
        arguments: [
            ("m.mlpackage", ModelFormat.coreml), ("M.MLPackage", .coreml), ("m.mlmodelc", .coreml), ("m", .tensorflow),
        ] as [(String, ModelFormat)])
    func aFolderHasAFormatToo(_ name: String, _ expected: ModelFormat) { #expect(ModelFormat(path: name) == expected) }

    /// One name in six spellings, as bundles without model.json, and the weights next to one of them.
    @Test("model files are found in a folder whatever the case of their endings")
    func filesOfEverySpellingAreFoundInAFolder() throws {
        let folder = try TemporaryFolder()
        try folder.write([
            "a.ONNX": "", "b.Tflite": "", "c.lite": "", "d.XML": "", "d.BIN": "", "e.pb": "", "f.MlModel": "",
            "g.TIOBUNDLE/model.json": Bundles.manifest(), "g.TIOBUNDLE/m.onnx": "", "h/1/m.LITE": "",
        ])
        let (repository, _) = try Bundles.repository(folder)
        #expect(repository.names == ["a", "b", "c", "d", "e", "f", "g", "h"])
        #expect(repository.leftOut == [])
    }

    /// The engine requires extensions in lower case: it finds files with others, and the weights next to them, by
    /// links.
    @Test(
        "OpenVINO reads a model file and its weights whatever the spelling of their endings",
        arguments: [
            ("integer-weights/mobilenet.tflite", ["lite", "TFLITE", "Lite"]), ("quantized/qdq.xml", ["XML", "Xml"]),
        ])
    func theEngineReadsFilesOfEverySpelling(_ fixture: String, _ endings: [String]) throws {
        let original = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/" + fixture)
        let weights = original.deletingPathExtension().appendingPathExtension("bin")
        let files = FileManager.default, engine = try DefaultEngine.shared()
        for ending in endings {
            let folder = try TemporaryFolder()
            let copy = folder.url.appendingPathComponent("m." + ending)
            try files.copyItem(at: original, to: copy)
            if files.fileExists(atPath: weights.path) {
                let bin = ending == "XML" ? "BIN" : "bin"
                try files.copyItem(at: weights, to: folder.url.appendingPathComponent("m." + bin))
            }
            // The unchanged file, and the file rewritten to compute in integers.
            for isRewritten in [false, true] {
                func ports(_ path: String) throws -> [[TensorPort]] {
                    var source = ModelSource(path: path)
                    source.allowsIntegerWeights = isRewritten
                    let file = try engine.read(source)
                    return [file.inputs, file.outputs]
                }
                #expect(try ports(copy.path) == ports(original.path), "\(ending), \(isRewritten)")
            }
        }
    }
}
