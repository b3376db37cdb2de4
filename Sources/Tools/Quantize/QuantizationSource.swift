internal import FileFormats
internal import FoundationEssentials
internal import Inference
internal import SystemSupport

/// The bundle that is quantized. A model file without model.json, or a downloaded folder, gets the bundle that
/// `ocelli init` would write, and a Core ML file its translation, in the work folder.
struct QuantizationSource: Sendable {
    /// A folder with model.json.
    let bundle: String
    /// The model file, which Python's OpenVINO reads.
    let file: String
    private let manifest: QuantizedManifest

    /// Reads the bundle at a path, or writes one if the path is not a bundle. Blocks.
    init(_ path: String, work: String) throws {
        bundle = try StagedBundle.folder(for: path, in: work + "/source")
        let read: ModelBundle
        do throws(InferenceError) {
            read = try ModelBundle(path: bundle)
        } catch {
            throw CommandError(error.message)
        }
        if CoreMLDraft.reads(read.source.path) {
            throw CommandError(
                "\(path)/model.json names a Core ML file: quantize that file, and move the settings of model.json into the model.json of "
                    + "the result")
        }
        file = read.source.path
        guard let data = FileManager.default.contents(atPath: bundle + "/model.json") else {
            throw CommandError("\(bundle)/model.json cannot be read")
        }
        manifest = try QuantizedManifest(String(decoding: data, as: UTF8.self), bundle: bundle, file: "model.xml")
    }

    /// Writes model.json with the new model file, and copies the files that it names. Blocks.
    func write(to folder: String, model: String) throws {
        for name in manifest.files {
            let parent = name.split(separator: "/").dropLast().joined(separator: "/")
            if !parent.isEmpty { try OutputFile.makeFolder(folder + "/" + parent) }
            guard let data = FileManager.default.contents(atPath: bundle + "/" + name) else {
                throw CommandError("\(bundle)/\(name) cannot be read")
            }
            try OutputFile.write([UInt8](data), to: folder + "/" + name)
        }
        try OutputFile.write(Array(manifest.text.utf8), to: folder + "/model.json")
    }
}
