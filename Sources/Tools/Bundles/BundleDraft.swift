internal import FoundationEssentials
internal import HTTPWire
internal import Inference
internal import InferenceService
internal import JSON

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
        try Self.checkIsModel(path, as: modelFile)
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
        let others = Self.otherModels(in: folder, than: file)
        if !others.isEmpty {
            notes.append(
                "the folder: it also holds \(others.joined(separator: ", ")), but with model.json it is one bundle; "
                    + "give \(file) a folder of its own")
        }
        let inputs = outline.inputs.enumerated().map { Self.input($1, $0, &notes) }
        let outputs = outline.outputs.enumerated().map { Self.output($1, $0, folder: folder, &notes) }
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
                "backend": \(Self.quoted(ModelBundle.backend(of: file))),
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

    /// Refuses files that are not model files by their name, before the engine's readers say so in their own words.
    private static func checkIsModel(_ path: String, as name: String) throws {
        var isFolder = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw StartupError("\(name) does not exist")
        }
        if isFolder {
            guard !FileManager.default.fileExists(atPath: path + "/saved_model.pb") else { return }
            let files = otherModels(in: path, than: "")
            let hint =
                files.isEmpty
                ? "" : ": name the model file in it, \(files.map { path + "/" + $0 }.joined(separator: ", "))"
            throw StartupError("\(name) is a folder, not a TensorFlow SavedModel\(hint)")
        }
        guard ModelBundle.fileExtensions.contains(where: { path.hasSuffix($0) }) else {
            throw StartupError(
                "\(name) is not a supported model file: expected \(ModelBundle.fileExtensions.joined(separator: ", ")), "
                    + "or a SavedModel's folder")
        }
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

    /// Other model files of the folder: they would no longer be served by themselves.
    private static func otherModels(in folder: String, than file: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.sorted().filter { name in
            name != file && ModelBundle.fileExtensions.contains { name.hasSuffix($0) }
        }
    }

    /// A picture has one or three channels on its first or last axis, and two more axes that are larger.
    private static func picture(_ shape: Shape) -> (height: Int, width: Int, channels: Int, isNCHW: Bool)? {
        var extents = shape.dimensions
        if extents.count == 4, extents[0] == 1 || extents[0] == Shape.dynamic { extents.removeFirst() }
        guard extents.count == 3 else { return nil }
        func isSide(_ extent: Int) -> Bool { extent > 3 || extent == Shape.dynamic }
        if [1, 3].contains(extents[2]), isSide(extents[0]), isSide(extents[1]) {
            return (extents[0], extents[1], extents[2], false)
        }
        if [1, 3].contains(extents[0]), isSide(extents[1]), isSide(extents[2]) {
            return (extents[1], extents[2], extents[0], true)
        }
        return nil
    }

    /// The shape of an array: a batch axis may stay open, every other axis needs an extent; a single number has one.
    private static func arrayShape(_ shape: Shape, _ open: inout [String]) -> [Int] {
        guard !shape.dimensions.isEmpty else { return [1] }
        return shape.dimensions.enumerated().map { axis, extent in
            guard extent == Shape.dynamic, axis > 0 else { return extent }
            open.append("shape[\(axis)]: the file leaves this extent open")
            return 1
        }
    }

    /// Adds what is open to a layer, and to the list of all.
    private static func finish(
        _ members: [(String, String)], _ path: String, _ open: [String], _ notes: inout [String]
    ) -> String {
        notes += open.map { "\(path).\($0)" }
        return object(open.isEmpty ? members : members + [("$decide", quoted(open.joined(separator: "; ")))])
    }

    private static func input(_ port: TensorPort, _ index: Int, _ notes: inout [String]) -> String {
        let path = "inputs[\(index)]"
        var members = [("name", quoted(port.name.isEmpty ? "input_\(index)" : port.name))]
        var open: [String] = []
        guard let picture = picture(port.shape) else {
            members.append(("type", "\"array\""))
            members.append(("dtype", quoted(port.elementType.rawValue)))
            members.append(("shape", list(arrayShape(port.shape, &open))))
            return finish(members, path, open, &notes)
        }
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
        return finish(members, path, open, &notes)
    }

    private static func output(_ port: TensorPort, _ index: Int, folder: String, _ notes: inout [String]) -> String {
        let path = "outputs[\(index)]"
        var open: [String] = []
        var members = [
            ("name", quoted(port.name.isEmpty ? "output_\(index)" : port.name)), ("type", "\"array\""),
            ("dtype", quoted(port.elementType.rawValue)), ("shape", list(arrayShape(port.shape, &open))),
        ]
        if let picture = picture(port.shape) {
            let layout = picture.isNCHW ? "layout \"NCHW\", " : ""
            open.append(
                "type: image, with shape [height, width, channels], format, \(layout)denormalize, if this is a picture")
        }
        let extents = port.shape.dimensions.filter { $0 != 1 && $0 != Shape.dynamic }
        guard extents.count == 1, let classes = extents.first else { return finish(members, path, open, &notes) }
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
        return finish(members, path, open, &notes)
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
            throw StartupError("\(path) already exists: use --force to overwrite it, or --stdout to print")
        }
        try OutputFile.write(Array(json.utf8), to: path)
        return path
    }
}
