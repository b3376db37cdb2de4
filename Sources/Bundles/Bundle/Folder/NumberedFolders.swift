internal import EngineAPI

/// Numbered folders, which are the versions of a model if no files of a bundle are next to them.
package enum NumberedFolders {
    /// The names that are version numbers, in ascending order.
    package static func names(among names: [String]) -> [String] {
        names.filter { !$0.isEmpty && $0.utf8.allSatisfy { (48...57).contains($0) } && UInt32($0) != nil }
            .sorted { (UInt32($0) ?? 0, $0) < (UInt32($1) ?? 0, $1) }
    }
}

extension ModelBundle {
    /// The warning about numbered folders with models inside the bundle's own folder: they look like versions of it,
    /// but are not served. Nil if no such folder exists. Reads the folder: blocks.
    package var adviceOnNumberedFolders: String? {
        let files = FolderReader.disk
        guard let names = try? files.names(path) else { return nil }
        let file = manifest?.file.split(separator: "/").first.map(String.init)
        let found = NumberedFolders.names(among: names).filter { $0 != file && Self.holdsModel(path + "/" + $0, files) }
        guard !found.isEmpty else { return nil }
        let list = found.prefix(5).joined(separator: ", ") + (found.count > 5 ? ", ..." : "")
        let folders =
            found.count == 1
            ? "the folder \(list) next to its files is not one of its versions and is"
            : "the folders \(list) next to its files are not versions of it and are"
        return "\(folders) not served: move its files into a numbered folder, too"
    }

    /// True if a folder contains a description or a model file, as a version does.
    private static func holdsModel(_ folder: String, _ files: FolderReader) -> Bool {
        let names = (try? files.names(folder)) ?? []
        return names.contains { $0 == "model.json" || isModelFile($0) || isModelFolder($0) }
    }
}
