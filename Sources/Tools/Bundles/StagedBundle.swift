internal import FileFormats
internal import FoundationEssentials
internal import Inference
internal import SystemSupport

/// A bundle with a model.json for any model: its own folder, or a folder of links with the model.json that
/// `ocelli init` would write. A Core ML file gets its translation.
enum StagedBundle {
    /// The folder of the bundle. Blocks.
    /// - Parameter folder: the folder for links and model.json, if the model has none.
    static func folder(for path: String, in folder: String) throws -> String {
        let path = FilePath.absolute(path)
        if FileManager.default.fileExists(atPath: path + "/model.json") { return path }
        let files = FileManager.default
        guard files.fileExists(atPath: path) else { throw CommandError("\(path) does not exist") }
        try OutputFile.makeFolder(folder)
        let last = FilePath.name(of: path) ?? "model"
        if CoreMLDraft.reads(path) {
            try link(path, folder + "/" + last)
            let draft = try CoreMLDraft(modelFile: folder + "/" + last)
            try draft.write(overwriting: true)
            return draft.folder
        }
        let own = folder + "/" + ModelBundle.servedName(of: last)
        try OutputFile.makeFolder(own)
        if ModelBundle.isDownloadedFolder(path) {
            for entry in (try? files.contentsOfDirectory(atPath: path)) ?? [] {
                try link(path + "/" + entry, own + "/" + entry)
            }
            _ = try BundleDraft(modelFile: own).write(overwriting: true)
            return own
        }
        try link(path, own + "/" + last)
        // Files next to a single model file that share its name belong to it: weights, labels.
        let stem = ModelFormat(file: last) == .tensorflow ? last : String(last.prefix { $0 != "." })
        let parent = FilePath.parent(of: path)
        for entry in (try? files.contentsOfDirectory(atPath: parent)) ?? []
        where entry != last && entry.hasPrefix(stem + ".") {
            try link(parent + "/" + entry, own + "/" + entry)
        }
        _ = try BundleDraft(modelFile: own + "/" + last).write(overwriting: true)
        return own
    }

    private static func link(_ from: String, _ to: String) throws {
        do {
            try FileManager.default.createSymbolicLink(atPath: to, withDestinationPath: from)
        } catch {
            throw CommandError("\(to) cannot be written")
        }
    }
}
