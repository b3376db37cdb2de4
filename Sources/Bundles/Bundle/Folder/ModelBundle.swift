package import EngineAPI
internal import FileFormats
internal import FoundationEssentials
internal import Glibc
internal import JSON
internal import ModelFacts
internal import SystemSupport

/// A model on disk: a folder with `model.json`, or a bare model file (or a SavedModel's folder), whose tensors are
/// served unchanged.
package struct ModelBundle: Sendable {
    /// The folder, or the bare model file.
    package let path: String
    /// The name it is served under: that of the folder or file, without its extension.
    package let name: String
    /// The parsed `model.json`; nil for a bare file.
    package private(set) var manifest: ModelManifest?
    /// The model file; of a reader, that of its recognizer; of a model for pictures and texts, that of its picture
    /// side.
    package private(set) var source: ModelSource
    /// The metadata of the model file and the files next to it; nil if the bundle has a model.json, or is a reader.
    package private(set) var facts: GatheredFacts?
    /// The networks of a reader of text; nil for other bundles.
    package let reader: ReaderDescription?
    /// The networks of a model that embeds texts; nil for other bundles.
    package let words: WordsDescription?
    /// The network that ``source`` is, of a bundle with several; nil for a whole bundle.
    package private(set) var part: BundlePart?
    /// The state of the files before they were read.
    package let stamp: BundleStamp

    /// The extensions of folders that are bundles by name (TensorIO's), and of bare model files.
    package static let folderExtensions = [".tiobundle", ".tfbundle"] + ModelFormat.folderEndings
    package static let fileExtensions = ModelFormat.allCases.flatMap(\.fileEndings)

    /// True if the name of a file is that of a model file.
    package static func isModelFile(_ path: String) -> Bool { ModelFormat(file: path) != nil }

    /// True if the name of a folder is that of a model file in the form of a folder: a Core ML package, or a compiled
    /// model.
    package static func isModelFolder(_ path: String) -> Bool {
        ModelFormat.folderEndings.contains { path.hasEnding($0) }
    }

    /// True if a folder is a downloaded model: a model file with metadata, in the file itself or in files next to it.
    /// Blocks.
    package static func isDownloadedFolder(_ folder: String) -> Bool {
        guard let layout = BundleLayout(folder: folder) else { return false }
        if layout.config || layout.preprocessor != nil || layout.metadata { return true }
        let model = layout.model.isEmpty ? folder : folder + "/" + layout.model
        let sheet = GatheredFacts(model: model, folder: folder, layout: layout).sheet
        return sheet.framing != nil || sheet.labels != nil
    }

    /// True if a folder is a TensorFlow SavedModel, which is a model file in the form of a folder.
    package static func isSavedModel(_ folder: String) -> Bool {
        FileManager.default.fileExists(atPath: folder + "/saved_model.pb")
    }

    /// The name that a folder or file is served under.
    package static func servedName(of path: String) -> String {
        if let repository = hubRepository(of: path) { return repository.name }
        let last = FilePath.name(of: path) ?? path
        for suffix in folderExtensions + fileExtensions where last.hasEnding(suffix) && last.count > suffix.count {
            return String(last.dropLast(suffix.count))
        }
        return last
    }

    /// The repository of a model in the cache of the hub's own programs, `…/models--ORG--NAME/snapshots/COMMIT`: its
    /// folder, which has the files that the snapshot links to, and NAME, as the snapshot's own name is the commit. Nil
    /// for other paths.
    static func hubRepository(of path: String) -> (folder: String, name: String)? {
        let path = FilePath.withoutSlashesAtEnd(path), snapshots = FilePath.parent(of: path)
        let folder = FilePath.parent(of: snapshots)
        guard FilePath.name(of: snapshots) == "snapshots", let last = FilePath.name(of: folder),
            last.hasPrefix("models--"), let dashes = last.ranges(of: "--").last, dashes.upperBound < last.endIndex
        else { return nil }
        return (folder, String(last[dashes.upperBound...]))
    }

    /// Reads a bundle: its manifest and labels, but not the model file, which the engine reads. Reads files: blocks.
    /// - Parameters:
    ///   - name: the name that it is served under; nil derives it from the path.
    ///   - links: the places that links may lead to.
    ///   - allowsPlaceholder: whether a bundle without a model is read; otherwise it is refused.
    /// - Throws: ``InferenceError/invalidBundle(name:problems:)`` with all problems.
    ///
    /// Long: the checks of a bundle in their order, each with the results of the previous ones.
    package init(
        path: String, name: String? = nil, links: LinkPolicy = .anywhere, allowsPlaceholder: Bool = false
    ) throws(InferenceError) {
        let path = FilePath.absolute(path)
        let name = name ?? Self.servedName(of: path)
        let isFolder: Bool
        switch Self.kind(at: path) {
        case .success(let kind): isFolder = kind == .folder
        case .failure(let problem):
            throw .invalidBundle(name: name, problems: [BundleProblem(path: "", reason: "\(path) \(problem.reason)")])
        }
        let misplaced = Self.outside(path, links: links) + Self.special(path)
        guard misplaced.isEmpty else { throw .invalidBundle(name: name, problems: misplaced) }
        self.path = path
        self.name = name
        let stamp = BundleStamp(path: path)
        let json = path + "/model.json"
        guard isFolder, FileManager.default.fileExists(atPath: json) else {
            let isModelFolder = isFolder && Self.isModelFolder(path)
            if isFolder, !isModelFolder, let names = try? FolderReader.disk.names(path) {
                switch ReaderFolder(path).search(names) {
                case .found(let found):
                    (manifest, facts, reader) = (nil, nil, found)
                    words = nil
                    source = ModelSource(path: path + "/" + found.read.file)
                    self.stamp = stamp
                    return
                case .problem(let problem): throw .invalidBundle(name: name, problems: [problem])
                case .none: break
                }
                switch WordsFolder(path).search(names) {
                case .found(let found):
                    (manifest, facts, reader, words) = (nil, nil, nil, found)
                    source = ModelSource(path: path + "/" + found.mainFile)
                    self.stamp = stamp
                    return
                case .problem(let problem): throw .invalidBundle(name: name, problems: [problem])
                case .none: break
                }
            }
            (reader, words) = (nil, nil)
            let layout = isFolder && !isModelFolder ? BundleLayout(folder: path) : nil
            let isBare = isFolder ? isModelFolder || Self.isSavedModel(path) : Self.isModelFile(path)
            if layout != nil || isBare {
                let model = layout.map { $0.model.isEmpty ? path : path + "/" + $0.model } ?? path
                manifest = nil
                source = ModelSource(path: model)
                // The importer of Core ML files reads their own descriptions.
                facts =
                    ModelFormat(path: model) == .coreml
                    ? nil : GatheredFacts(model: model, folder: isFolder ? path : nil, layout: layout)
                self.stamp = stamp
                return
            }
            guard isFolder else {
                let reason =
                    "\(path) is not a supported model file"
                    + (ForeignFile.advice(for: path).map { " (\($0))" } ?? "")
                    + ": expected \(Self.fileExtensions.joined(separator: ", "))"
                throw .invalidBundle(name: name, problems: [BundleProblem(path: "", reason: reason)])
            }
            throw .invalidBundle(
                name: name, problems: [BundleProblem(path: "model.json", reason: Self.absence(of: json))])
        }
        let problems = ProblemList()
        let data: Data
        switch BundleFile.read(json, maximum: BundleFile.largestManifest) {
        case .success(let contents): data = contents
        case .failure(let problem):
            throw .invalidBundle(name: name, problems: [BundleProblem(path: "model.json", reason: problem.reason)])
        }
        let tree: JSONTree
        do throws(JSONTextError) {
            tree = try JSONValue.read(data)
        } catch {
            throw .invalidBundle(
                name: name, problems: [BundleProblem(path: "model.json", reason: "is not valid JSON: \(error.reason)")])
        }
        if let repeated = tree.repeatedName {
            problems.add("model.json", "\(repeated): remove one of the two")
        }
        let parser = ManifestParser(
            problems: problems,
            labels: { Self.readLabels($0, jsonPath: $1, bundle: path, problems: problems) },
            contents: { file, place, maximum in
                Self.readFile(file, jsonPath: place, bundle: path, maximum: maximum, problems: problems).map {
                    [UInt8]($0)
                }
            },
            locate: { Self.locate($0, jsonPath: $1, bundle: path, problems: problems) },
            reader: { ReaderParser(object: $0, folder: ReaderFolder(path)).parse() },
            words: { Self.words(in: path, problems) })
        let manifest = parser.parse(tree.value)
        if manifest.placeholder != nil, !allowsPlaceholder {
            problems.add("placeholder", "is true: this bundle is a placeholder without a model")
        }
        var file = manifest.file
        if let reader = manifest.reader { file = reader.read.file }
        if let words = manifest.words { file = words.mainFile }
        if !file.isEmpty, manifest.pipeline == nil {
            // A SavedModel may be named by its folder or by the file in it.
            if file == "saved_model.pb" { file = "" }
            let full = file.isEmpty ? path : path + "/" + file
            if !FileManager.default.fileExists(atPath: full) {
                problems.add("model.file", "\"\(file)\" is not in the bundle")
            }
        }
        if manifest.pipeline != nil || manifest.reader != nil || manifest.words != nil,
            let problem = CalibrationFile.misplaced(in: path)
        {
            problems.add(problem.path, problem.reason)
        }
        guard problems.problems.isEmpty else { throw .invalidBundle(name: name, problems: problems.problems) }
        self.manifest = manifest
        (reader, words) = (manifest.reader, manifest.words)
        facts = nil
        source = ModelSource(path: file.isEmpty ? path : path + "/" + file)
        self.stamp = stamp
    }

    /// One network of a bundle with several as a bundle of its own, which has no model.json. Blocks.
    /// - Parameter cut: the file of the network, if it was cut out of a file with several.
    package func network(_ part: BundlePart, cut: String? = nil) -> ModelBundle {
        var network = self
        network.part = part
        network.manifest = nil
        let file =
            switch part {
            case .reader(let part): reader?[part]?.file
            case .words(let part): words?[part]
            }
        guard let file else { return network }
        network.source = ModelSource(path: cut ?? path + "/" + file)
        if part == .words(.pictures) {
            network.facts = GatheredFacts(
                model: network.source.path, folder: path, layout: BundleLayout(around: path))
        }
        return network
    }

    /// The settings of its networks; nil if model.json states none.
    package var runtime: ModelRuntime? { reader?.runtime ?? words?.runtime ?? manifest?.runtime }

    /// The published files of a model that embeds texts; nil without them, or with a problem.
    private static func words(in path: String, _ problems: ProblemList) -> WordsDescription? {
        guard let names = try? FolderReader.disk.names(path) else { return nil }
        switch WordsFolder(path).search(names) {
        case .found(let words): return words
        case .problem(let problem):
            problems.add(problem.path, problem.reason)
            return nil
        case .none: return nil
        }
    }

    /// The reason model.json cannot be read.
    private static func absence(of json: String) -> String {
        if case .failure(let problem) = BundleFile.read(json, maximum: BundleFile.largestManifest) {
            guard problem.reason == "is missing" else { return problem.reason }
            let folder = String(json.dropLast("/model.json".count))
            if let several = BundleLayout.adviceOnSeveral(in: folder) { return "is missing, and \(several)" }
            let other = ForeignFile.note(on: folder)
            return
                "is missing, and the folder itself has no model file (\(fileExtensions.joined(separator: ", ")))\(other)"
        }
        return "appeared while the folder was read: load it again"
    }

    /// Problems for the links that lead to places that are not allowed: in the folder, or a bare model file and the
    /// files next to it with the same stem, which may be its weights.
    private static func outside(_ path: String, links: LinkPolicy) -> [BundleProblem] {
        guard links != .anywhere else { return [] }
        let links = links.admitting(path)
        // The path of the bundle itself, with links resolved.
        guard links.allows(path) else { return [BundleProblem(path: "", reason: LinkPolicy.problem)] }
        let walk = BundleWalk(path)
        // A link that was not visited may lead anywhere.
        guard walk.isComplete else { return [BundleProblem(path: "", reason: BundleWalk.excess)] }
        return (walk.links + namesakes(of: path)).filter { !links.allows($0) }.map { link in
            BundleProblem(path: String(link.dropFirst(path.count + 1)), reason: LinkPolicy.problem)
        }
    }

    /// The files with the same stem as a bare model file: the file itself, and its weights.
    private static func namesakes(of path: String) -> [String] {
        guard isModelFile(path), let slash = path.lastIndex(of: "/"), let dot = path.lastIndex(of: "."), slash < dot
        else { return [] }
        let stem = path[path.index(after: slash)...dot]
        let folder = String(path[..<slash])
        return ((try? FolderReader.disk.names(folder.isEmpty ? "/" : folder)) ?? []).filter { $0.hasPrefix(stem) }
            .sorted().map { folder + "/" + $0 }
    }

    /// Problems for pipes, sockets and devices among the files of a bundle, found before any file is opened, because
    /// the engine would never finish reading them.
    private static func special(_ path: String) -> [BundleProblem] {
        let inside = BundleWalk(path).entries.filter { !$0.path.dropFirst(path.count).contains("/.") }
        var problems = inside.compactMap { entry -> BundleProblem? in
            guard let kind = SpecialFile(entry.status), kind != .folder else { return nil }
            let place = entry.path == path ? "" : String(entry.path.dropFirst(path.count + 1))
            return BundleProblem(
                path: place, reason: (place.isEmpty ? "\(path) " : "") + "cannot be read: \(kind.reason)")
        }
        // Other files with the same stem, such as a service's socket, do not belong to the model.
        let endings = ModelFormat(file: path)?.weightEndings ?? []
        let stem = path[..<(path.lastIndex(of: ".") ?? path.endIndex)]
        let besides = namesakes(of: path).filter { endings.contains($0.dropFirst(stem.count).lowercased()) }
        for beside in besides + externalFiles(of: path).filter({ !besides.contains($0) }) {
            var status = stat()
            guard stat(beside, &status) == 0, let kind = SpecialFile(status), kind != .folder else { continue }
            problems.append(BundleProblem(path: "", reason: "\(beside) cannot be read: \(kind.reason)"))
        }
        return problems
    }

    /// The files, under any name, that contain weights of a bare ONNX file; empty for other formats. Reads the file:
    /// blocks.
    package static func externalFiles(of path: String) -> [String] {
        guard ModelFormat(file: path) == .onnx, let file = try? OpenFile(path) else { return [] }
        return ONNXExternalFiles.names(ByteSource(count: file.size) { file.bytes($0) }).sorted()
            .map { FilePath.folder(of: path) + $0 }
    }

    /// The kind of the entry at a path, or the problem if it cannot be read: an unreadable folder must not look like
    /// one whose files are missing.
    private static func kind(at path: String) -> Result<FolderReader.Kind, BundleFile.Problem> {
        let files = FolderReader.disk
        do throws(FileFailure) {
            let kind = try files.kind(path)
            if kind == .missing { return .failure(BundleFile.Problem(reason: "does not exist")) }
            if kind == .folder, try files.kind(path + "/model.json") == .missing { _ = try files.names(path) }
            return .success(kind)
        } catch {
            return .failure(BundleFile.Problem(reason: "cannot be read: \(error.reason)"))
        }
    }

    /// The path of a file that model.json names; TensorIO keeps such files in `assets`, others keep them next to
    /// model.json.
    private static func locate(
        _ file: String, jsonPath: String, bundle: String, problems: ProblemList
    ) -> String? {
        guard !file.isEmpty, !file.contains("/"), file != "..", file != "." else {
            problems.add(jsonPath, "expected the name of a file in the bundle, found \"\(file)\"")
            return nil
        }
        for folder in ["/assets/", "/"] {
            var isFolder = false
            let path = bundle + folder + file
            if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder { return path }
        }
        problems.add(jsonPath, "\"\(file)\" is not in the bundle (nor in its assets folder)")
        return nil
    }

    /// The contents of a file of at most `maximum` bytes.
    private static func readFile(
        _ file: String, jsonPath: String, bundle: String, maximum: Int = BundleFile.largestLabels, problems: ProblemList
    ) -> Data? {
        guard let path = locate(file, jsonPath: jsonPath, bundle: bundle, problems: problems) else { return nil }
        switch BundleFile.read(path, maximum: maximum) {
        case .success(let contents): return contents
        case .failure(let problem):
            problems.add(jsonPath, "\"\(file)\" \(problem.reason)")
            return nil
        }
    }

    /// The labels in a file.
    private static func readLabels(
        _ file: String, jsonPath: String, bundle: String, problems: ProblemList
    ) -> [String]? {
        guard let data = readFile(file, jsonPath: jsonPath, bundle: bundle, problems: problems) else { return nil }
        do throws(FormatError) {
            return try LabelFile.read([UInt8](data), name: file)
        } catch {
            problems.add(jsonPath, "\"\(file)\" \(error.reason)")
            return nil
        }
    }
}
