package import Inference
package import JSON
internal import Observations

/// Writes a reader of text for `/v1/models` and `ocelli check --json`: its models, by the keys of `reader` in
/// model.json.
package enum ReaderAnswer {
    /// Writes the members `task` and `reader` of the open object.
    package static func write(_ reader: Reader, to writer: inout JSONWriter) {
        writer.member("task", ObservationTask.read.rawValue)
        writer.key("reader")
        writer.object { writer in
            for (part, model) in reader.models {
                writer.key(part.rawValue)
                writer.object { writer in
                    if let network = reader.description[part] { writer.member("file", network.file) }
                    writer.member("backend", model.description.backend)
                    writer.member("device", model.loadReport.device)
                    if let engine = model.loadReport.engine {
                        writer.key("engine")
                        writer.object { writer in
                            writer.member("name", engine.name)
                            writer.member("version", engine.version)
                        }
                    }
                    writer.member("confirmation", model.loadReport.confirmation.text)
                }
            }
        }
    }
}

extension ObservationResult {
    /// The number of regions of text that were not read because of a limit; nil for a result without text.
    package var skippedRegions: Int? {
        if case .text(let page) = content { page.skipped } else { nil }
    }

    /// The number of lines of text and of their characters that an answer has; 0 for a result without text.
    /// - Parameter characters: whether the answer lists the characters.
    package func textEntries(characters: Bool) -> Int {
        guard case .text(let page) = content else { return 0 }
        return page.lines.reduce(0) { $0 + 1 + (characters ? $1.characters.count : 0) }
    }
}
