internal import EngineAPI
internal import FileFormats

extension ForeignFile {
    /// Advice on the first such file in a folder, as text to append to a sentence; empty if the folder has none of
    /// them. Reads the folder: blocks.
    package static func note(on folder: String) -> String {
        for name in ((try? FolderReader.disk.names(folder)) ?? []).sorted() {
            if let advice = advice(for: name) { return "; \(name) is not supported (\(advice))" }
        }
        return ""
    }
}
