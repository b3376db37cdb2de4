internal import FoundationEssentials
internal import HTTPWire
internal import Inference
internal import JSON
internal import ModelFacts
internal import SystemSupport

/// Writes the bundle from which a Core ML file is quantized: model.json, the model as OpenVINO IR, and the labels.
package struct CoreMLDraft {
    /// The text of model.json.
    package let json: String
    /// The folder for the bundle.
    package let folder: String
    private let conversion: CoreMLConversion
    private let labels: (ending: String, bytes: [UInt8])?

    /// True if a path has the name of a Core ML file.
    package static func reads(_ path: String) -> Bool { CoreMLConversion.reads(FilePath.absolute(path)) }

    /// Translates the file. Blocks.
    package init(modelFile: String) throws {
        let path = FilePath.absolute(modelFile)
        do throws(InferenceError) {
            conversion = try CoreMLConversion(path: path)
        } catch {
            throw CommandError("\(modelFile): \(error.message)")
        }
        let name = ModelBundle.servedName(of: path)
        folder = FilePath.folder(of: path) + name
        labels = conversion.labels.map(LabelFile.written)
        let labelFile = labels.map { "labels" + $0.ending }
        let inputs = conversion.inputs.map { Self.layer($0, isInput: true, labels: nil) }
        let outputs = conversion.outputs.map {
            Self.layer($0, isInput: false, labels: labelFile)
        }
        json = """
            {
              "name": \(JSONText.quoted(name)),
              "details": \(JSONText.quoted(conversion.details)),
              "id": \(JSONText.quoted(name)),
              "version": \(JSONText.quoted(conversion.version.isEmpty ? "1" : conversion.version)),
              "author": \(JSONText.quoted(conversion.author)),
              "license": \(JSONText.quoted(conversion.license)),
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

    private static func byColor(_ numbers: [Double]) -> String {
        "{ \"r\": \(numbers[0]), \"g\": \(numbers[1]), \"b\": \(numbers[2]) }"
    }

    private static func layer(_ layer: CoreMLConversion.Layer, isInput: Bool, labels: String?) -> String {
        var members = [
            ("name", JSONText.quoted(layer.name)), ("type", layer.picture == nil ? "\"array\"" : "\"image\""),
            ("dtype", JSONText.quoted(layer.elementType.rawValue)),
            ("shape", DraftText.list(layer.shape.dimensions.isEmpty ? [1] : layer.shape.dimensions)),
        ]
        if let picture = layer.picture {
            members += [("format", JSONText.quoted(picture.format)), ("layout", "\"NCHW\"")]
            if isInput {
                let bias = picture.bias.count == 3 ? byColor(picture.bias) : picture.bias.first.map { "\($0)" } ?? "0"
                members += [
                    ("normalize", "{ \"scale\": \(picture.scale), \"bias\": \(bias) }"),
                    ("crop_and_scale", "\"center\""),
                ]
            }
        } else if layer.isLabelled, let labels {
            members.append(("labels", JSONText.quoted(labels)))
        }
        return "    {\n" + members.map { "      \"\($0.0)\": \($0.1)" }.joined(separator: ",\n") + "\n    }"
    }

    /// Writes the folder.
    /// - Throws: if it has a model.json that must not be overwritten.
    package func write(overwriting: Bool) throws {
        let path = folder + "/model.json"
        guard overwriting || !FileManager.default.fileExists(atPath: path) else {
            throw CommandError("\(path) already exists: use --force to overwrite it, or --stdout to print")
        }
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw CommandError("\(folder) cannot be created: a file may have this name")
        }
        try OutputFile.write(conversion.representation, to: folder + "/model.xml")
        try OutputFile.write(conversion.weights, to: folder + "/model.bin")
        if let labels { try OutputFile.write(labels.bytes, to: folder + "/labels" + labels.ending) }
        try OutputFile.write(Array(json.utf8), to: path)
    }
}
