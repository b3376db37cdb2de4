internal import FileFormats
internal import FoundationEssentials
internal import Glibc
internal import Inference
internal import JSON
internal import SystemSupport
internal import Teaching

/// The folder that `ocelli teach` writes: the embedder's model file and its other files, taught.safetensors, and a
/// model.json that names it.
struct TaughtBundle {
    /// The name under which it is served.
    let name: String
    let details: String
    let head: TaughtClassifier
    /// The folder of the embedder, with a model.json.
    private let source: String
    private let members: [String: JSONValue]

    /// Reads the embedder's description. Blocks.
    /// - Parameter work: a folder for a model.json if the model has none.
    init(name: String, details: String, head: TaughtClassifier, embedder: String, work: String) throws {
        (self.name, self.details, self.head) = (name, details, head)
        source = try StagedBundle.folder(for: embedder, in: work)
        let text: Data
        switch BundleFile.read(source + "/model.json", maximum: Self.largestManifest) {
        case .success(let contents): text = contents
        case .failure(let problem): throw CommandError("\(source)/model.json \(problem.reason)")
        }
        let json: JSONValue
        do throws(JSONTextError) {
            json = try JSONValue.parse(text)
        } catch {
            throw CommandError("\(source)/model.json is not valid JSON: \(error.reason)")
        }
        guard case .object(let members) = json else { throw CommandError("\(source)/model.json is not an object") }
        self.members = members
    }

    private static let largestManifest = 16 << 20

    /// Writes all files into a new folder. Blocks.
    func write(to folder: String) throws {
        try OutputFile.makeFolder(folder)
        let manifest = try manifest()
        for file in try files(of: manifest) { try Self.copy(source + "/" + file, to: folder + "/" + file) }
        try OutputFile.write(TaughtFile.bytes(of: head), to: folder + "/" + TaughtFile.name)
        try OutputFile.write(Array((ManifestText.of(.object(manifest)) + "\n").utf8), to: folder + "/model.json")
    }

    /// The model.json, with the classes in the first embedding and in no other output.
    private func manifest() throws -> [String: JSONValue] {
        var members = members
        guard case .array(var outputs)? = members["outputs"] else {
            throw CommandError("\(source)/model.json has no outputs")
        }
        var isTaught = false
        for index in outputs.indices {
            guard case .object(var output) = outputs[index] else { continue }
            // Other labels would be other classes.
            output["labels"] = nil
            if !isTaught, output["type"] == .string("embedding") {
                (output["classes"], output["scale"]) = (nil, nil)
                output["taught"] = .string(TaughtFile.name)
                isTaught = true
            }
            outputs[index] = .object(output)
        }
        guard isTaught else { throw CommandError("\(source)/model.json has no output of type \"embedding\"") }
        members["outputs"] = .array(outputs)
        (members["name"], members["id"]) = (.string(name), .string(name))
        (members["version"], members["details"]) = (.string("1"), .string(details))
        return members
    }

    /// The embedder's files that the bundle needs, as relative paths: the model file, its weights, and the files that
    /// model.json names.
    private func files(of manifest: [String: JSONValue]) throws -> [String] {
        guard case .object(let model)? = manifest["model"], case .string(let file)? = model["file"] else {
            throw CommandError("\(source)/model.json has no model.file")
        }
        // A SavedModel may be named by its folder or by the file in it.
        var files = file == "saved_model.pb" ? [file, "variables", "assets", "assets.extra", "fingerprint.pb"] : [file]
        if let dot = file.lastIndex(of: "."), let format = ModelFormat(file: file) {
            files += (format.weightEndings + [".labels"]).map { file[..<dot] + $0 }
            // External files in the folder of the model file, with any name.
            files += ModelBundle.externalFiles(of: source + "/" + file).map { String($0.dropFirst(source.count + 1)) }
        }
        for name in Self.strings(in: .object(manifest.filter { $0.key != "model" })).sorted() {
            files += [name, "assets/" + name]
        }
        var seen: Set<String> = []
        return files.filter { name in
            !name.isEmpty && !name.hasPrefix("/") && !name.split(separator: "/").contains("..")
                && name != TaughtFile.name && name != "model.json" && seen.insert(name).inserted
                && access(source + "/" + name, F_OK) == 0
        }
    }

    private static func strings(in value: JSONValue) -> Set<String> {
        switch value {
        case .string(let text): text.utf8.count <= 255 && !text.contains("\0") ? [text] : []
        case .array(let values): values.reduce(into: []) { $0.formUnion(strings(in: $1)) }
        case .object(let members): members.values.reduce(into: []) { $0.formUnion(strings(in: $1)) }
        default: []
        }
    }

    /// Copies a file, or a folder with its contents; links are replaced by their targets.
    private static func copy(_ from: String, to: String, depth: Int = 0) throws {
        var status = stat()
        guard stat(from, &status) == 0 else {
            throw CommandError("\(from) cannot be read: \(SystemError.words(errno))")
        }
        try OutputFile.makeFolder(FilePath.parent(of: to))
        do {
            if status.st_mode & S_IFMT == S_IFDIR {
                guard depth < 8 else { throw CommandError("\(from) has folders in folders without end") }
                try OutputFile.makeFolder(to)
                for name in try FileManager.default.contentsOfDirectory(atPath: from).sorted() {
                    try copy(from + "/" + name, to: to + "/" + name, depth: depth + 1)
                }
            } else if status.st_mode & S_IFMT == S_IFREG {
                try FileManager.default.copyItem(atPath: resolved(from), toPath: to)
            }
        } catch let error as CocoaError {
            throw CommandError("\(from) cannot be copied to \(to): \(error)")
        }
    }

    private static func resolved(_ path: String) -> String { FilePath.resolved(path) ?? path }
}

/// A model.json as text: the usual keys first, each object of the second level on its own line.
enum ManifestText {
    private static let order = [
        "name", "details", "id", "version", "author", "license", "model", "inputs", "outputs", "type", "shape", "file",
        "backend",
    ]

    static func of(_ value: JSONValue, depth: Int = 0) -> String {
        let margin = String(repeating: "  ", count: depth)
        switch value {
        case .object(let members) where depth < 3 && !members.isEmpty:
            let lines = sorted(members).map {
                "\(margin)  \(JSONText.quoted($0.key)): \(of($0.value, depth: depth + 1))"
            }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(margin)}"
        case .object(let members):
            let parts = sorted(members).map { "\(JSONText.quoted($0.key)): \(of($0.value, depth: depth + 1))" }
            return parts.isEmpty ? "{}" : "{ " + parts.joined(separator: ", ") + " }"
        case .array(let elements):
            let parts = elements.map { of($0, depth: depth + 1) }
            return "[" + parts.joined(separator: ", ") + "]"
        case .string(let text): return JSONText.quoted(text)
        case .integer(let number): return String(number)
        case .number(let number): return "\(number)"
        case .bool(let value): return String(value)
        case .null: return "null"
        }
    }

    private static func sorted(_ members: [String: JSONValue]) -> [(key: String, value: JSONValue)] {
        members.sorted { one, other in
            let places = [one.key, other.key].map { order.firstIndex(of: $0) ?? order.count }
            return (places[0], one.key) < (places[1], other.key)
        }
    }
}
