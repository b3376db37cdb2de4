internal import Bundles
internal import EngineAPI
internal import FileFormats
internal import Glibc
internal import Inference
internal import SystemSupport

/// Finds the models of a folder.
///
/// ```
/// digits/model.json            a bundle
/// mobilenet.tiobundle/         a TensorIO bundle
/// resnet50/1/, resnet50/2/     numbered versions of one model
/// squeezenet.onnx              a bare model file
/// resnet50.mlpackage/          a Core ML package
/// inception/saved_model.pb     a bare SavedModel
/// vit/config.json, model.onnx  a folder as it was downloaded: the files next to the model file describe it
/// clip/config.json, onnx/vision_model.onnx  the same, with the model in a folder of exports
/// ```
///
/// In place of such a folder, the setting may name one model: its file, its bundle, or the folder of its versions.
struct RepositoryScanner: Sendable {
    struct Found: Sendable, Hashable {
        let name: String
        /// The version of a numbered folder; nil if the bundle contains it.
        let version: String?
        let path: String
        /// The model folder that contains it.
        let folder: String
        /// The reason it cannot be read: any number of versions may exist at or below the path.
        var failure: FileFailure?
        /// The folder of the numbered versions that it belongs to; nil if it is not numbered.
        var place: String?
    }

    var files = FolderReader.disk
    /// The maximum time for reading a folder: a file system that does not answer must not keep the daemon from
    /// starting.
    var patience = Duration.seconds(30)

    /// The failure of an entry in a file system that does not answer.
    static let silence = FileFailure(code: ETIMEDOUT)

    /// Calls ``scan(_:)-(String)`` within ``patience``. An entry that does not answer counts as unreadable; the others
    /// are served. Blocks.
    func scanInTime(_ folder: String) throws(RepositoryError) -> [Found] {
        let result = LoaderThread.wait(within: patience, on: folder) {
            Result { () throws(RepositoryError) in try contents(ofModelsFolder: folder) }
        }
        guard let result else {
            throw RepositoryError(
                folder: folder,
                problem: "did not answer within \(patience.components.seconds) s: check the disk and the mount")
        }
        switch try result.get() {
        case .model(let found): return found
        case .entries(let entries):
            return LoaderThread.map(entries) { foundInTime(at: $0, in: folder) }.flatMap { $0 }
        }
    }

    private func foundInTime(at entry: String, in folder: String) -> [Found] {
        let path = folder + "/" + entry
        return LoaderThread.wait(within: min(patience, BundleFacts.patience), on: path) {
            found(at: entry, in: folder)
        }
            ?? [
                Found(
                    name: ModelBundle.servedName(of: entry), version: nil, path: path, folder: folder,
                    failure: Self.silence)
            ]
    }

    /// Scans a model of `model` within ``patience``; a path that does not answer counts as unreadable. Blocks.
    func scanInTime(_ model: NamedModel) -> [Found] {
        let (name, path) = (model.name, model.path)
        return LoaderThread.wait(within: patience, on: path) { scan(model) }
            ?? [Found(name: name, version: nil, path: path, folder: path, failure: Self.silence)]
    }

    /// Finds the models in the folder, by name and version. Names that begin with a dot or an underscore are skipped:
    /// copies in progress have such names. Reads the folder: blocks.
    /// - Throws: if the folder itself cannot be read. An unreadable entry in it is returned with the reason.
    func scan(_ folder: String) throws(RepositoryError) -> [Found] {
        switch try contents(ofModelsFolder: folder) {
        case .model(let found): return found
        case .entries(let entries): return entries.flatMap { found(at: $0, in: folder) }
        }
    }

    private enum Contents: Sendable {
        /// It is itself a model: a model file, a bundle, or the versions of one model.
        case model([Found])
        /// The names that may be models.
        case entries([String])
    }

    private func contents(ofModelsFolder folder: String) throws(RepositoryError) -> Contents {
        let itself = Found(name: ModelBundle.servedName(of: folder), version: nil, path: folder, folder: folder)
        if ModelBundle.isModelFile(folder), (try? files.kind(folder)) == .file { return .model([itself]) }
        let names = try names(ofModelsFolder: folder)
        // The folder may itself be a bundle: `--models my-model` is what people try first.
        if names.contains("model.json") || names.contains("saved_model.pb") || ModelBundle.isModelFolder(folder)
            || BundleLayout.isBundle(names: names, folder: folder, files: files)
        {
            try refuseBundles(in: folder, names: names)
            return .model([itself])
        }
        let entries = names.filter { !Self.isIgnored($0) && Self.problem(ofName: $0) == nil }
        let versions = versions(among: entries, of: itself.name, at: folder)
        return versions.isEmpty ? .entries(entries) : .model(versions)
    }

    /// The versions of one model, if the folder has numbered folders and nothing else that may be a model.
    private func versions(among entries: [String], of name: String, at folder: String) -> [Found] {
        let numbers = NumberedFolders.names(among: entries)
        // Other folders are not looked at: each entry may take long to answer.
        guard !numbers.isEmpty else { return [] }
        let others = entries.filter { !numbers.contains($0) }
        guard
            !others.contains(where: { ModelBundle.isModelFile($0) || (try? files.kind(folder + "/" + $0)) == .folder })
        else { return [] }
        return numbers.compactMap { version($0, of: name, at: folder, in: folder) }
    }

    /// The reason no request can contain this model name; nil if requests can. `HTTPWire` limits the characters of
    /// paths.
    private static func problem(ofName name: String) -> String? {
        let isUnnameable = name.utf8.contains { $0 < 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "\\") }
        return isUnnameable
            ? "its name has a control character or a backslash, which a request cannot contain: rename it" : nil
    }

    /// Refuses a folder that contains a model.json and other bundles. The folder would be one bundle, the others would
    /// not be served; the file was put in the wrong place.
    private func refuseBundles(in folder: String, names: [String]) throws(RepositoryError) {
        guard names.contains("model.json") else { return }
        let bundles = names.filter { name in
            !Self.isIgnored(name) && (try? files.kind(folder + "/" + name + "/model.json")) == .file
        }
        guard !bundles.isEmpty else { return }
        throw RepositoryError(
            folder: folder,
            problem: "contains a model.json next to the bundles \(bundles.prefix(5).joined(separator: ", "))"
                + "\(bundles.count > 5 ? ", ..." : ""): put the model that it describes into its own folder")
    }

    /// Finds the models of an entry of `model`: the path itself, its versions, or the only model in it. A path that
    /// does not exist is returned with that failure, because it may be mounted later. Reads the path: blocks.
    func scan(_ model: NamedModel) -> [Found] {
        let (name, path) = (model.name, model.path)
        do throws(FileFailure) {
            switch try files.kind(path) {
            case .missing:
                return [Found(name: name, version: nil, path: path, folder: path, failure: FileFailure(code: ENOENT))]
            case .file: return [Found(name: name, version: nil, path: path, folder: path)]
            case .folder: break
            }
            let names = try files.names(path)
            let itself = Found(name: name, version: nil, path: path, folder: path)
            if try isBundle(path) || ModelBundle.isModelFolder(path)
                || BundleLayout(names: names, folder: path, files: files) != nil
            {
                return [itself]
            }
            let versions = NumberedFolders.names(among: names).compactMap { version($0, of: name, at: path, in: path) }
            if !versions.isEmpty { return versions }
            let inside = names.sorted().filter { !Self.isIgnored($0) }.flatMap { found(at: $0, in: path) }
            // If it contains no model, or several, the path itself is loaded: that fails, and the error states the
            // expected content.
            guard Set(inside.map(\.name)).count == 1 else { return [itself] }
            return inside.map {
                Found(name: name, version: $0.version, path: $0.path, folder: path, failure: $0.failure)
            }
        } catch {
            return [Found(name: name, version: nil, path: path, folder: path, failure: error)]
        }
    }

    /// All models that a path on the command line means: those that a model of this path would serve, or, for a folder
    /// with several models, all of these. Reads the path: blocks.
    func models(at model: NamedModel) -> [String] {
        let found = scan(model).map(\.path)
        guard found == [model.path], (try? files.kind(model.path)) == .folder else { return found }
        let inside = ((try? scan(model.path)) ?? []).map(\.path)
        return inside.isEmpty ? found : inside
    }

    /// Finds the versions created by updates, `NAME/VERSION/`, where VERSION ends in the update's number (`3.1`);
    /// empty if the folder does not exist or does not answer. Reads the folder: blocks.
    func updatesInTime(_ folder: String) -> [Found] {
        LoaderThread.wait(within: patience, on: folder) { updates(in: folder) } ?? []
    }

    private func updates(in folder: String) -> [Found] {
        let names = ((try? files.names(folder)) ?? []).sorted().filter { !Self.isIgnored($0) }
        return names.flatMap { name -> [Found] in
            let place = folder + "/" + name
            let versions = ((try? files.names(place)) ?? []).filter { UpdatedVersion($0) != nil }
            return versions.sorted().compactMap { version($0, of: name, at: place, in: folder) }
        }
    }

    private func names(ofModelsFolder folder: String) throws(RepositoryError) -> [String] {
        let problem: String
        do throws(FileFailure) {
            switch try files.kind(folder) {
            case .missing:
                let beside = (try? files.names(FilePath.parent(of: folder))) ?? []
                problem = "does not exist" + Spelling.hint(for: FilePath.name(of: folder) ?? folder, among: beside)
            case .file:
                problem =
                    "is not a supported model file" + (ForeignFile.advice(for: folder).map { " (\($0))" } ?? "")
                    + ": expected \(ModelBundle.fileExtensions.joined(separator: ", ")), or a folder"
            case .folder:
                // A folder that can be listed (r) may not be searchable (x): every entry of it would then fail.
                _ = try files.kind(folder + "/.")
                return try files.names(folder).sorted()
            }
        } catch {
            problem = "cannot be read: \(error.reason)"
        }
        throw RepositoryError(folder: folder, problem: problem)
    }

    /// True for names that no model has: hidden ones, and `lost+found`, which file systems keep in their root.
    private static func isIgnored(_ name: String) -> Bool {
        name.hasPrefix(".") || name.hasPrefix("_") || name == "lost+found"
    }

    private func found(at entry: String, in folder: String) -> [Found] {
        let path = folder + "/" + entry
        let name = ModelBundle.servedName(of: entry)
        do throws(FileFailure) {
            switch try files.kind(path) {
            case .missing: return []
            case .file:
                return ModelBundle.isModelFile(entry)
                    ? [Found(name: name, version: nil, path: path, folder: folder)] : []
            case .folder: break
            }
            if try isBundle(path) || ModelBundle.folderExtensions.contains(where: { entry.hasEnding($0) }) {
                return [Found(name: name, version: nil, path: path, folder: folder)]
            }
            let names = try files.names(path)
            let versions = NumberedFolders.names(among: names)
            if versions.isEmpty,
                BundleLayout(names: names, folder: path, files: files) != nil
                    || BundleLayout.isBundle(names: names, folder: path, files: files)
            {
                return [Found(name: name, version: nil, path: path, folder: folder)]
            }
            return versions.compactMap { self.version($0, of: name, at: path, in: folder) }
        } catch {
            // An entry that disappeared after its name was read is gone.
            return error.isAbsence ? [] : [Found(name: name, version: nil, path: path, folder: folder, failure: error)]
        }
    }

    private func version(_ version: String, of name: String, at place: String, in folder: String) -> Found? {
        let path = place + "/" + version
        do throws(FileFailure) {
            return try content(ofVersion: path).map {
                Found(name: name, version: version, path: $0, folder: folder, place: place)
            }
        } catch {
            return error.isAbsence
                ? nil : Found(name: name, version: version, path: path, folder: folder, failure: error, place: place)
        }
    }

    /// The path of the model that a version's folder serves: the folder itself if it is a bundle, otherwise the only
    /// model file in it.
    private func content(ofVersion path: String) throws(FileFailure) -> String? {
        guard try files.kind(path) == .folder else { return nil }
        if try isBundle(path) { return path }
        let names = try files.names(path)
        if BundleLayout.isBundle(names: names, folder: path, files: files) { return path }
        let models = names.filter { ModelBundle.isModelFile($0) || ModelBundle.isModelFolder($0) }
        return models.count == 1 ? path + "/" + models[0] : nil
    }

    private func isBundle(_ folder: String) throws(FileFailure) -> Bool {
        if try files.kind(folder + "/model.json") != .missing { return true }
        return try files.kind(folder + "/saved_model.pb") != .missing
    }

    /// True if a file holds the weights of a bare model file next to it.
    private static func isWeights(_ entry: String, of found: [Found], in folder: String) -> Bool {
        found.contains { model in
            guard let format = ModelFormat(file: model.path), let dot = model.path.lastIndex(of: ".") else {
                return false
            }
            let stem = model.path[..<dot], path = folder + "/" + entry
            return path.hasPrefix(stem) && format.weightEndings.contains(path.dropFirst(stem.count).lowercased())
        }
    }

    /// The entries of a folder that ``scan(_:)`` does not serve, each with the reason; hidden names are omitted. Reads
    /// the folder: blocks.
    func leftOut(of folder: String, found: [Found]) -> [String] {
        // It is itself a model.
        if found.contains(where: { $0.path == folder || $0.place == folder }) { return [] }
        let names = ((try? files.names(folder)) ?? []).sorted()
        return names.filter { !Self.isIgnored($0) }.compactMap { entry in
            let path = folder + "/" + entry
            if found.contains(where: { $0.path == path || $0.path.hasPrefix(path + "/") }) { return nil }
            if Self.isWeights(entry, of: found, in: folder) { return nil }
            if let problem = Self.problem(ofName: entry) { return "\(entry) (\(problem))" }
            if let other = found.first(where: { $0.name == ModelBundle.servedName(of: entry) }) {
                return "\(entry) (its name is used by \(other.path))"
            }
            return switch try? files.kind(path) {
            // Names that are not UTF-8 are repaired when they are read, and then no file has that name.
            case .missing, nil:
                "\(entry) (\(entry.contains("\u{FFFD}") ? "its name is not UTF-8 text" : "a broken link"))"
            case .folder:
                if let several = BundleLayout.adviceOnSeveral(in: path, files: files)
                    ?? (BundleLayout.exportFolders.contains(entry)
                        ? BundleLayout.adviceOnSeveral(in: folder, files: files) : nil)
                {
                    "\(entry) (\(several))"
                } else {
                    "\(entry) (a folder without model.json, saved_model.pb, one model file, or numbered versions with one model "
                        + "each\(ForeignFile.note(on: path)))"
                }
            case .file: "\(entry) (\(ForeignFile.advice(for: entry) ?? "not a model file: unknown extension"))"
            }
        }
    }
}

/// The reason a models folder cannot be used.
public struct RepositoryError: Error, Sendable, CustomStringConvertible {
    /// A message for the user.
    public let message: String

    init(message: String) { self.message = message }

    init(folder: String, problem: String) {
        let isFile = ModelBundle.isModelFile(folder) || problem.hasPrefix("is not a supported model file")
        message = "\(isFile ? "" : "the models folder ")\(folder) \(problem) (models)"
    }

    /// The message.
    public var description: String { message }
}
