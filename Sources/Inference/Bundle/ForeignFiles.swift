internal import FileFormats

extension ForeignFile {
    /// The first such file in a folder and what to do with it, to be put behind a sentence; empty where there is none.
    /// Reads the folder: blocks.
    static func note(on folder: String) -> String {
        for name in ((try? FolderReader.disk.names(folder)) ?? []).sorted() {
            if let advice = advice(for: name) { return "; \(name) is not supported (\(advice))" }
        }
        return ""
    }
}
