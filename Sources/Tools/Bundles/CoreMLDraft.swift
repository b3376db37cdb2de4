internal import FoundationEssentials
internal import HTTPWire
internal import Inference
internal import InferenceService
internal import JSON

/// Writes the bundle that a Core ML file is quantized from: model.json, OpenVINO's representation, and the labels.
package struct CoreMLDraft {
    /// The text of model.json.
    package let json: String
    /// The folder that is written.
    package let folder: String
    private let conversion: CoreMLConversion

    /// True if the name of a path is that of a Core ML file.
    package static func reads(_ path: String) -> Bool { CoreMLConversion.reads(Self.trimmed(path)) }

    /// Translates the file. Blocks.
    package init(modelFile: String) throws {
        let path = Self.trimmed(modelFile)
        do throws(InferenceError) {
            conversion = try CoreMLConversion(path: path)
        } catch {
            throw StartupError("\(modelFile): \(error.message)")
        }
        let name = ModelBundle.servedName(of: path)
        let slash = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        folder = slash + name
        let labels = conversion.labels
        let inputs = conversion.inputs.map { Self.layer($0, isInput: true, labels: nil) }
        let outputs = conversion.outputs.map {
            Self.layer($0, isInput: false, labels: labels == nil ? nil : "labels.txt")
        }
        json = """
            {
              "name": \(Self.quoted(name)),
              "details": \(Self.quoted(conversion.details)),
              "id": \(Self.quoted(name)),
              "version": \(Self.quoted(conversion.version.isEmpty ? "1" : conversion.version)),
              "author": \(Self.quoted(conversion.author)),
              "license": \(Self.quoted(conversion.license)),
              "model": {
                "file": "model.xml",
                "backend": "openvino",
                "quantized": false,
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
    }

    private static func trimmed(_ path: String) -> String {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }

    private static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        JSONText.appendString(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func list(_ numbers: [some CustomStringConvertible]) -> String {
        "[" + numbers.map(\.description).joined(separator: ", ") + "]"
    }

    private static func layer(_ layer: CoreMLConversion.Layer, isInput: Bool, labels: String?) -> String {
        var members = [
            ("name", quoted(layer.name)), ("type", layer.picture == nil ? "\"array\"" : "\"image\""),
            ("dtype", quoted(layer.elementType.rawValue)),
            ("shape", list(layer.shape.dimensions.isEmpty ? [1] : layer.shape.dimensions)),
        ]
        if let picture = layer.picture {
            members += [("format", quoted(picture.format)), ("layout", "\"NCHW\"")]
            if isInput {
                let bias = picture.bias.count == 3 ? list(picture.bias) : picture.bias.first.map { "\($0)" } ?? "0"
                members += [
                    ("normalize", "{ \"scale\": \(picture.scale), \"bias\": \(bias) }"),
                    ("crop_and_scale", "\"center\""),
                ]
            }
        } else if layer.isLabelled, let labels {
            members.append(("labels", quoted(labels)))
        }
        return "    {\n" + members.map { "      \"\($0.0)\": \($0.1)" }.joined(separator: ",\n") + "\n    }"
    }

    /// Writes the folder.
    /// - Throws: when it has a model.json and that must not be overwritten.
    package func write(overwriting: Bool) throws {
        let path = folder + "/model.json"
        guard overwriting || !FileManager.default.fileExists(atPath: path) else {
            throw StartupError("\(path) already exists: use --force to overwrite it, or --stdout to print")
        }
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw StartupError("\(folder) cannot be created: is there a file of this name?")
        }
        try OutputFile.write(conversion.representation, to: folder + "/model.xml")
        try OutputFile.write(conversion.weights, to: folder + "/model.bin")
        if let labels = conversion.labels {
            try OutputFile.write(Array((labels.joined(separator: "\n") + "\n").utf8), to: folder + "/labels.txt")
        }
        try OutputFile.write(Array(json.utf8), to: path)
    }
}
