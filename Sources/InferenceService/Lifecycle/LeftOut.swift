internal import Inference

/// Logs the entries of the model folders that are not models: a misspelt `model.jsn`, or a file of a format that is not
/// read here, would otherwise only be missed.
enum LeftOut {
    /// The most entries that one line names.
    private static let most = 10

    /// Writes a line if there is anything. Reads the folders: blocks.
    static func log(_ repository: ModelRepository, to log: Log) {
        if let sentence = sentence(repository) { log.info(sentence) }
    }

    /// The line; nil where there is nothing to say. Reads the folders: blocks.
    static func sentence(_ repository: ModelRepository) -> String? {
        let entries = repository.leftOut
        guard !entries.isEmpty else { return nil }
        let rest = entries.count > most ? "; and \(entries.count - most) more" : ""
        return "ignored, because they are not models: " + entries.prefix(most).joined(separator: "; ") + rest
    }
}
