internal import Inference
internal import Repository
internal import ServiceCore

/// Logs the ignored entries of the model folders: otherwise a misspelt `model.jsn`, or a file of an unsupported format,
/// would go unnoticed.
enum IgnoredEntries {
    /// The maximum number of entries in one line.
    private static let maximum = 10

    /// Logs the ignored entries, if any. Reads the folders: blocks.
    static func log(_ repository: ModelRepository, to log: Log) {
        if let sentence = sentence(repository) { log.info(sentence) }
    }

    /// The sentence about the ignored entries; nil without any. Reads the folders: blocks.
    static func sentence(_ repository: ModelRepository) -> String? {
        let entries = repository.leftOut
        guard !entries.isEmpty else { return nil }
        let rest = entries.count > maximum ? "; and \(entries.count - maximum) more" : ""
        return "ignored in the models folders: " + entries.prefix(maximum).joined(separator: "; ") + rest
    }
}
