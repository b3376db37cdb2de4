internal import FoundationEssentials
internal import HTTPWire
internal import Inference

/// Writes a first `model.json` for a model file: what the file tells is filled in, what only its maker knows is marked with
/// `$decide`, which is a remark to Ocelli.
package struct BundleDraft {
    /// The text of model.json.
    package let json: String
    /// What is left to decide, each with its place.
    package let decisions: [String]
    /// The folder that the file belongs in.
    package let folder: String

    /// Reads the model file. Blocks.
    package init(modelFile: String) throws {
        var path = modelFile
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        guard FileManager.default.fileExists(atPath: path) else { throw StartupError("\(modelFile) does not exist") }
        let outline: ModelOutline
        do throws(InferenceError) {
            outline = try ModelOutline(path: path)
        } catch {
            throw StartupError("\(modelFile): \(error.message)")
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let file = parts.last.map(String.init) ?? path
        let parent = parts.dropLast().joined(separator: "/")
        let folder = parts.count == 1 ? "." : parent.isEmpty ? "/" : parent
        self.folder = folder
        // A folder of its own names the model better than `model.onnx` does.
        let name = ModelBundle.servedName(of: folder == "." || folder == "/" ? file : folder)
        let isQuantized = (outline.inputs + outline.outputs).allSatisfy {
            $0.elementType == .uint8 || $0.elementType == .int8
        }
        var notes: [String] = []
        let inputs = outline.inputs.enumerated().map { Self.input($1, "inputs[\($0)]", &notes) }
        let outputs = outline.outputs.enumerated().map { Self.output($1, "outputs[\($0)]", folder: folder, &notes) }
        json = """
            {
              "name": \(Self.quoted(name)),
              "details": "",
              "id": \(Self.quoted(name)),
              "version": "1",
              "author": "",
              "license": "",
              "model": {
                "file": \(Self.quoted(file)),
                "backend": \(Self.quoted(Self.backend(of: file))),
                "quantized": \(isQuantized),
                "modes": ["predict"]
              },
              "inputs": [
            \(inputs.joined(separator: ",\n"))
              ],
              "outputs": [
            \(outputs.joined(separator: ",\n"))
              ]
            }

            """
        decisions = ["details, author, license: what the model is, and whose"] + notes
    }

    private static func backend(of file: String) -> String {
        for (suffix, backend) in [
            (".onnx", "onnx"), (".tflite", "tflite"), (".xml", "openvino"), (".pdmodel", "paddle"),
        ]
        where file.hasSuffix(suffix) { return backend }
        return "tensorflow"
    }

    private static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        JSONText.appendString(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func object(_ members: [(String, String)]) -> String {
        "    {\n" + members.map { "      \"\($0.0)\": \($0.1)" }.joined(separator: ",\n") + "\n    }"
    }

    private static func list(_ shape: [Int]) -> String { "[" + shape.map(String.init).joined(separator: ", ") + "]" }

    /// A picture has one or three channels on its first or last axis, and two more axes that are no smaller.
    private static func picture(_ shape: Shape) -> (height: Int, width: Int, channels: Int, isNCHW: Bool)? {
        let extents = shape.dimensions
        guard extents.count == 4, extents[0] == 1 || extents[0] == Shape.dynamic else { return nil }
        if [1, 3].contains(extents[3]), extents[1] > 3 || extents[1] < 0, extents[2] > 3 || extents[2] < 0 {
            return (extents[1], extents[2], extents[3], false)
        }
        if [1, 3].contains(extents[1]), extents[2] > 3 || extents[2] < 0, extents[3] > 3 || extents[3] < 0 {
            return (extents[2], extents[3], extents[1], true)
        }
        return nil
    }

    private static func input(_ port: TensorPort, _ path: String, _ notes: inout [String]) -> String {
        var members = [("name", quoted(port.name.isEmpty ? "input" : port.name))]
        guard let picture = picture(port.shape) else {
            members.append(("type", "\"array\""))
            members.append(("dtype", quoted(port.elementType.rawValue)))
            members.append(("shape", list(port.shape.dimensions)))
            return object(members)
        }
        var open: [String] = []
        members.append(("type", "\"image\""))
        members.append(("dtype", quoted(port.elementType.rawValue)))
        let height = picture.height > 0 ? picture.height : 224, width = picture.width > 0 ? picture.width : 224
        if picture.height < 0 || picture.width < 0 { open.append("the size: the file leaves it open") }
        members.append(("shape", list([height, width, picture.channels])))
        members.append(("format", picture.channels == 1 ? "\"GRAY\"" : "\"RGB\""))
        if picture.isNCHW { members.append(("layout", "\"NCHW\"")) }
        if picture.channels == 3 { open.append("format: RGB or BGR, as the model was trained") }
        if port.elementType.isFloatingPoint {
            members.append(("normalize", "{ \"standard\": \"[0,1]\" }"))
            open.append(
                "normalize: [0,1], [-1,1], scale and bias, mean and std, or none for pixels from 0 to 255, as the model was trained"
            )
        } else if port.elementType == .int8 {
            members.append(("quantize", "{ \"scale\": 1, \"bias\": -128 }"))
            open.append("quantize: the scale and zero point of the model's input")
        }
        members.append(("crop_and_scale", "\"center\""))
        open.append("crop_and_scale: center, fit or fill, as the pictures were prepared for training")
        notes += open.map { "\(path).\($0)" }
        members.append(("$decide", quoted(open.joined(separator: "; "))))
        return object(members)
    }

    private static func output(_ port: TensorPort, _ path: String, folder: String, _ notes: inout [String]) -> String {
        var members = [
            ("name", quoted(port.name.isEmpty ? "output" : port.name)), ("type", "\"array\""),
            ("dtype", quoted(port.elementType.rawValue)), ("shape", list(port.shape.dimensions)),
        ]
        let extents = port.shape.dimensions.filter { $0 != 1 && $0 != Shape.dynamic }
        guard extents.count == 1, let classes = extents.first else { return object(members) }
        var open: [String] = []
        if let file = labelsFile(in: folder, count: classes) {
            members.append(("labels", quoted(file)))
        } else {
            open.append("labels: the name of a file with \(classes) lines, if these are classes")
        }
        if port.elementType.isFloatingPoint {
            open.append("activation: softmax (or sigmoid), if the file gives logits")
        } else if port.elementType == .uint8 || port.elementType == .int8 {
            let scores = port.elementType == .uint8 ? "\"standard\": \"[0,1]\"" : "\"scale\": 0.00390625, \"bias\": 0.5"
            members.append(("dequantize", "{ \(scores) }"))
            open.append("dequantize: the scale and zero point of the model's output")
        }
        guard !open.isEmpty else { return object(members) }
        notes += open.map { "\(path).\($0)" }
        members.append(("$decide", quoted(open.joined(separator: "; "))))
        return object(members)
    }

    /// A file of the folder that has as many lines as there are classes.
    private static func labelsFile(in folder: String, count: Int) -> String? {
        for name in ["labels.txt", "classes.txt", "imagenet_classes.txt", "synset.txt"] {
            for place in ["/", "/assets/"] {
                guard let data = FileManager.default.contents(atPath: folder + place + name) else { continue }
                var lines = data.split(separator: 0x0A, omittingEmptySubsequences: false).count
                if data.last == 0x0A { lines -= 1 }
                if lines == count { return name }
            }
        }
        return nil
    }

    /// Writes model.json into the folder.
    /// - Throws: when there is one and it must not be overwritten.
    package func write(overwriting: Bool) throws -> String {
        let path = folder + "/model.json"
        guard overwriting || !FileManager.default.fileExists(atPath: path) else {
            throw StartupError("\(path) is there already: --force overwrites it, --stdout only prints")
        }
        try Data(json.utf8).write(to: URL(filePath: path))
        return path
    }
}
