import Foundation
import TestSupport
import Tokenizers

/// The tokenizers of the shared data.
enum TokenizerFiles {
    private static let words = SharedData.folder?.appendingPathComponent("words")

    /// True if the shared tokenizers are present.
    static let areShared = words.map { FileManager.default.fileExists(atPath: $0.path) } ?? false

    /// The ids of the shared texts.
    static let ids = words?.appendingPathComponent("ids.json")

    /// The shared files by name.
    static let shared: [String: URL] = {
        guard let words, let kinds = try? contents(words.appendingPathComponent("tokenizers")),
            let models = try? contents(words.appendingPathComponent("models"))
        else { return [:] }
        var files: [String: URL] = [:]
        for file in kinds { files[file.deletingPathExtension().lastPathComponent] = file }
        for model in models {
            files["models/" + model.lastPathComponent] = model.appendingPathComponent("tokenizer.json")
        }
        return files
    }()

    /// Files of other places: the folder `OCELLI_TOKENIZERS`, for checks with whole vocabularies.
    static let further: [String: URL] = {
        guard let folder = ProcessInfo.processInfo.environment["OCELLI_TOKENIZERS"],
            let files = try? contents(URL(fileURLWithPath: folder))
        else { return [:] }
        return Dictionary(uniqueKeysWithValues: files.map { ($0.lastPathComponent, $0) })
    }()

    private static func contents(_ folder: URL) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    }

    static func bytes(_ file: URL) throws -> [UInt8] { [UInt8](try Data(contentsOf: file)) }
}
