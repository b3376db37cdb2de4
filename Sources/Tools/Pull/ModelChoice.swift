internal import FileFormats
internal import Inference
package import SystemSupport

/// The files to pull from a repository: one model, and the files that Ocelli reads with it.
package struct ModelChoice: Sendable, Equatable {
    package let unit: ModelUnit
    /// The folder of the repository that becomes the local folder: the nearest one above the model that describes it;
    /// empty for the top.
    package let root: String
    /// Configurations, metadata and labels.
    package let beside: [HubFile]

    /// All files, the model's first.
    package var files: [HubFile] { unit.files + beside }

    /// The sum of the sizes in bytes; nil if one is missing or the sum is too large for a number.
    package var size: Int? { Self.sum(files) }

    /// The path of the model in the local folder; empty for a SavedModel at its top.
    package var localModel: String { unit.path == root ? "" : HubPath.relative(unit.path, to: root) ?? unit.path }

    /// The path of a file of the repository in the local folder.
    package func localPath(of path: String) -> String { HubPath.relative(path, to: root) ?? path }

    static func sum(_ files: [HubFile]) -> Int? {
        var sum = 0
        for file in files {
            guard let size = file.size, size >= 0 else { return nil }
            let (next, isTooLarge) = sum.addingReportingOverflow(size)
            guard !isTooLarge else { return nil }
            sum = next
        }
        return sum
    }

    /// - Parameter pattern: which model to take; nil for the usual one.
    /// - Throws: why no model can be chosen, with the names of those that could.
    package init(files: [HubFile], pattern: PathPattern?) throws(CommandError) {
        let units = ModelUnit.all(in: files)
        guard !units.isEmpty else { throw Self.nothing(in: files) }
        let fitting: [ModelUnit]
        if let pattern {
            let exact = units.filter { $0.path == pattern.text }
            fitting = exact.isEmpty ? units.filter { unit in Self.fits(unit, pattern) } : exact
            guard !fitting.isEmpty else {
                throw CommandError("no model fits --file '\(pattern.text)'; the repository has \(Self.list(units))")
            }
        } else {
            let usual = ModelCandidate.usual(among: units.map(\.candidate))
            fitting = units.filter { usual.contains($0.candidate) }
        }
        guard fitting.count == 1, let unit = fitting.first else {
            let pictures = ModelCandidate.forPictures(among: fitting.map(\.candidate))
            let example = fitting.first { $0.candidate == pictures.first }?.name ?? fitting[0].name
            throw CommandError(
                "several models fit: \(Self.list(fitting)); choose one with --file, as in --file '\(example)'")
        }
        self.unit = unit
        (root, beside) = Self.surroundings(of: unit, among: files.filter { !HubPath.isHidden($0.path) })
    }

    private static func fits(_ unit: ModelUnit, _ pattern: PathPattern) -> Bool {
        pattern.fits(unit.name)
            || unit.isFolder && unit.format == .tensorflow && pattern.fits(HubPath.joined(unit.path, "saved_model.pb"))
    }

    // MARK: Descriptions

    private static func surroundings(of unit: ModelUnit, among files: [HubFile]) -> (root: String, beside: [HubFile]) {
        var byFolder: [String: [HubFile]] = [:]
        for file in files { byFolder[HubPath.folder(of: file.path), default: []].append(file) }
        let own = Set(unit.files.map(\.path))
        func describes(_ file: HubFile) -> Bool {
            let name = HubPath.name(of: file.path)
            return !own.contains(file.path)
                && (name == "model.json"
                    ? !isForBrowsers(byFolder[HubPath.folder(of: file.path)] ?? []) : BundleLayout.describes(name))
        }
        var root = unit.folder
        while !root.isEmpty, !(byFolder[root] ?? []).contains(where: describes) { root = HubPath.folder(of: root) }
        let inRoot = (byFolder[root] ?? []).filter { !own.contains($0.path) }
        let pooling = (byFolder[HubPath.joined(root, "1_Pooling")] ?? [])
        let names = (inRoot + pooling).compactMap { HubPath.relative($0.path, to: root) }
        // Core ML files describe themselves.
        var wanted =
            unit.format == .coreml
            ? [] : Set(BundleLayout.filesRead(among: names, besideModel: HubPath.name(of: unit.path)))
        var assets: [HubFile] = []
        if names.contains("model.json"), !isForBrowsers(inRoot) {
            wanted.insert("model.json")
            wanted.formUnion(names.filter(BundleLayout.describes))
            assets = byFolder[HubPath.joined(root, "assets")] ?? []
        }
        let beside = (inRoot + pooling).filter { file in
            HubPath.relative(file.path, to: root).map(wanted.contains) ?? false
        }
        return (root, beside + assets.filter { !own.contains($0.path) })
    }

    /// True if a model.json is TensorFlow.js': its weights are in numbered pieces.
    private static func isForBrowsers(_ files: [HubFile]) -> Bool { files.contains { $0.path.contains("-shard") } }

    // MARK: Messages

    private static func list(_ units: [ModelUnit]) -> String {
        units.prefix(20).map(\.name).joined(separator: ", ") + (units.count > 20 ? " and \(units.count - 20) more" : "")
    }

    private static func nothing(in files: [HubFile]) -> CommandError {
        let endings = (ModelFormat.allCases.flatMap(\.fileEndings) + ModelFormat.folderEndings).joined(separator: ", ")
        let foreign = files.map(\.path).sorted().lazy.compactMap { path in
            ForeignFile.advice(for: path).map { (path, $0) }
        }.first
        let advice = foreign.map { "; it has \($0.0) (\($0.1))" } ?? ""
        return CommandError("the repository has no model file that Ocelli serves (\(endings))\(advice)")
    }
}
