internal import FoundationEssentials
internal import Inference
internal import JSON
internal import SystemSupport

/// A model.json for a Core ML file that changes nothing yet: the file describes itself, and the values that can be
/// changed are included as comments.
package struct CoreMLOverlay {
    /// The text of model.json.
    package let json: String
    /// The folder for the file.
    package let folder: String
    /// The name of the file or package.
    private let file: String

    /// True if a path has the name of a Core ML file.
    package static func reads(_ path: String) -> Bool { CoreMLOutline.reads(FilePath.absolute(path)) }

    /// Reads the file. Blocks.
    /// - Throws: the reason why it cannot be served.
    package init(modelFile: String) throws {
        let path = FilePath.absolute(modelFile)
        let outline: CoreMLOutline
        do throws(InferenceError) {
            outline = try CoreMLOutline(path: path)
        } catch {
            throw CommandError("\(modelFile): \(error.message)")
        }
        file = FilePath.name(of: path) ?? path
        let parent = String(path.dropLast(file.count + 1))
        folder = parent.isEmpty ? "/" : parent
        let name = ModelBundle.servedName(of: path)
        json = """
            {
              // Omitted values are those of the model file. Remove the slashes in front of a line to change its value.
              "name": \(JSONText.quoted(name)),
              "id": \(JSONText.quoted(name)),
              "version": "1",
              "model": { "file": \(JSONText.quoted(file)), "backend": "coreml" },
              // "runtime": { "instances": 2 },
              "inputs": [
            \(outline.inputs.map(Self.layer).joined(separator: ",\n"))
              ],
              "outputs": [
            \(outline.outputs.map(Self.layer).joined(separator: ",\n"))
              ]
            }

            """
    }

    private static func layer(_ input: CoreMLOutline.Input) -> String {
        guard let (scale, bias) = input.normalization else { return object(input.name, []) }
        let biases =
            bias.count == 3 ? "{ \"r\": \(bias[0]), \"g\": \(bias[1]), \"b\": \(bias[2]) }" : "\(bias.first ?? 0)"
        return object(
            input.name,
            [
                "\"normalize\": { \"scale\": \(scale), \"bias\": \(biases) },  // pixel * scale + bias",
                "\"crop_and_scale\": \"center\",  // or \"fit\", \"fill\"",
            ])
    }

    private static func layer(_ output: CoreMLOutline.Output) -> String {
        object(
            output.name,
            output.labels.map { ["\"labels\": \"labels.txt\",  // a file of \($0) lines, in the order of the classes"] }
                ?? [])
    }

    private static func object(_ name: String, _ choices: [String]) -> String {
        guard !choices.isEmpty else { return "    { \"name\": \(JSONText.quoted(name)) }" }
        let lines = choices.map { "      // \($0)\n" }.joined()
        return "    {\n      \"name\": \(JSONText.quoted(name)),\n\(lines)    }"
    }

    /// Writes model.json next to the file.
    /// - Throws: if the folder is not the model's own, or has a model.json that must not be overwritten.
    package func write(overwriting: Bool) throws -> String {
        try BundleDraft.checkFolder(folder, holding: file, isNamedAfterIt: true)
        return try BundleDraft.write(json, into: folder, overwriting: overwriting)
    }
}
