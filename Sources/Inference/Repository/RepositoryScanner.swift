internal import FoundationEssentials

/// Finds the models of a folder.
///
/// ```
/// digits/model.json            a bundle
/// mobilenet.tiobundle/         a TensorIO bundle
/// resnet50/1/, resnet50/2/     numbered versions of one model
/// squeezenet.onnx              a bare model file
/// inception/saved_model.pb     a bare SavedModel
/// ```
enum RepositoryScanner {
    struct Found: Sendable, Hashable {
        let name: String
        /// The version of a numbered folder; nil where the bundle itself tells.
        let version: String?
        let path: String
    }

    private static func reasonUnreadable(_ folder: String) -> String {
        var isFolder = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder) else { return "does not exist" }
        return isFolder
            ? "may not be read by this user: every folder on the way to it and in it needs r and x"
            : "is a file: give the folder that it is in"
    }

    /// What the folder holds, by name and version. Names that begin with a dot or an underscore are left alone: copies
    /// in progress are kept under such names. Reads the folder: blocks.
    static func scan(_ folder: String) throws(RepositoryError) -> [Found] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        } catch {
            throw RepositoryError(message: "the models folder \(folder) \(reasonUnreadable(folder)) (models)")
        }
        // The folder may itself be a bundle: `--models my-model` is what people try first.
        if names.contains("model.json") || names.contains("saved_model.pb") {
            return [Found(name: ModelBundle.servedName(of: folder), version: nil, path: folder)]
        }
        var found: [Found] = []
        for entry in names where !entry.hasPrefix(".") && !entry.hasPrefix("_") {
            let path = folder + "/" + entry
            let name = ModelBundle.servedName(of: entry)
            var isFolder = false
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { continue }
            if !isFolder {
                if ModelBundle.isModelFile(entry) { found.append(Found(name: name, version: nil, path: path)) }
                continue
            }
            if FileManager.default.fileExists(atPath: path + "/model.json") || ModelBundle.isSavedModel(path)
                || ModelBundle.folderExtensions.contains(where: { entry.hasSuffix($0) })
            {
                found.append(Found(name: name, version: nil, path: path))
                continue
            }
            let versions = ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [])
                .filter { !$0.isEmpty && $0.utf8.allSatisfy { (48...57).contains($0) } && UInt32($0) != nil }
            for version in versions.sorted(by: { (UInt32($0) ?? 0) < (UInt32($1) ?? 0) }) {
                guard let content = versionContent(path + "/" + version) else { continue }
                found.append(Found(name: name, version: version, path: content))
            }
        }
        return found
    }

    /// What a folder holds and ``scan(_:)`` passes over, each with the reason; hidden names are not told. Reads the folder:
    /// blocks.
    static func leftOut(of folder: String, found: [Found]) -> [String] {
        // A folder that is itself a bundle.
        if found.contains(where: { $0.path == folder }) { return [] }
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
        return names.filter { !$0.hasPrefix(".") && !$0.hasPrefix("_") }.compactMap { entry in
            let path = folder + "/" + entry
            if found.contains(where: { $0.path == path || $0.path.hasPrefix(path + "/") }) { return nil }
            if let other = found.first(where: { $0.name == ModelBundle.servedName(of: entry) }) {
                return "\(entry) (\(other.path) has its name)"
            }
            var isFolder = false
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
                return "\(entry) (a link that leads nowhere)"
            }
            return isFolder
                ? "\(entry) (a folder without model.json, saved_model.pb, or numbered versions with one model each)"
                : "\(entry) (no model file by its name)"
        }
    }

    /// What a version's folder serves: itself where it is a bundle, else the only model file in it.
    private static func versionContent(_ path: String) -> String? {
        if FileManager.default.fileExists(atPath: path + "/model.json") || ModelBundle.isSavedModel(path) {
            return path
        }
        let files = ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).filter(ModelBundle.isModelFile)
        return files.count == 1 ? path + "/" + files[0] : nil
    }
}

/// Why a models folder cannot be used.
public struct RepositoryError: Error, Sendable, CustomStringConvertible {
    /// A sentence a person can act on.
    public let message: String

    /// The message.
    public var description: String { message }
}
