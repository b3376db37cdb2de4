package import FileFormats

/// A model in a repository: a file with its weights, or the files of a Core ML package or a SavedModel.
package struct ModelUnit: Sendable, Equatable {
    package let format: ModelFormat
    /// The path of the file, or of the folder; empty for a SavedModel at the top.
    package let path: String
    package let files: [HubFile]

    /// True if the model is a folder.
    var isFolder: Bool { files.count != 1 && format.weightEndings.isEmpty || !files.contains { $0.path == path } }

    /// The name for messages and patterns.
    package var name: String { path.isEmpty ? "saved_model.pb" : path }

    /// The folder that contains the model; a SavedModel is its own.
    var folder: String { format == .tensorflow && isFolder ? path : HubPath.folder(of: path) }

    var candidate: ModelCandidate {
        guard format == .tensorflow, isFolder else {
            let stem = Self.stem(HubPath.name(of: path), format.fileEndings + ModelFormat.folderEndings)
            return ModelCandidate(format: format, path: path, stem: stem.lowercased())
        }
        return ModelCandidate(format: format, path: path, stem: "saved_model")
    }

    private static func stem(_ name: String, _ endings: [String]) -> String {
        endings.first { name.hasEnding($0) }.map { String(name.dropLast($0.count)) } ?? name
    }

    /// The models among the files of a repository, in the order of their paths.
    package static func all(in files: [HubFile]) -> [ModelUnit] {
        let visible = files.filter { !HubPath.isHidden($0.path) }
        let byPath = Dictionary(visible.map { ($0.path, $0) }) { first, _ in first }
        let byLowerPath = Dictionary(visible.map { ($0.path.lowercased(), $0) }) { first, _ in first }
        var packages: [String: [HubFile]] = [:]
        var rest: [HubFile] = []
        for file in visible {
            if let package = package(of: file.path) {
                packages[package, default: []].append(file)
            } else {
                rest.append(file)
            }
        }
        var units = packages.map { ModelUnit(format: .coreml, path: $0.key, files: $0.value) }
        let saved = rest.filter { HubPath.name(of: $0.path) == "saved_model.pb" }.map { HubPath.folder(of: $0.path) }
        for folder in saved {
            let own = rest.filter { file in
                guard let path = HubPath.relative(file.path, to: folder) else { return false }
                return path == "saved_model.pb" || path.hasPrefix("variables/") || path.hasPrefix("assets/")
            }
            units.append(ModelUnit(format: .tensorflow, path: folder, files: own))
        }
        let inSaved = Set(units.flatMap(\.files).map(\.path))
        for file in rest where !inSaved.contains(file.path) {
            guard let format = ModelCandidate(file: file.path)?.format else { continue }
            let stem = stem(file.path, format.fileEndings)
            var weights = format.weightEndings.compactMap { ending in
                byPath[stem + ending] ?? byLowerPath[(stem + ending).lowercased()]
            }
            if format == .onnx { weights = onnxData(of: file.path, among: rest) }
            // Those of two formats hold no weights themselves.
            if format == .openvino || format == .paddle, weights.isEmpty { continue }
            units.append(ModelUnit(format: format, path: file.path, files: [file] + weights))
        }
        return units.sorted { $0.path < $1.path }
    }

    /// The Core ML package or compiled model that a file is in: the outermost.
    private static func package(of path: String) -> String? {
        let names = path.split(separator: "/")
        guard
            let index = names.dropLast().firstIndex(where: { name in
                ModelFormat.folderEndings.contains { name.hasEnding($0) }
            })
        else { return nil }
        return names[...index].joined(separator: "/")
    }

    /// The files that exporters name like an ONNX file for its weights: `model.onnx_data`, `model.onnx.data`, with a
    /// number for further ones. The file itself says later which it needs.
    private static func onnxData(of path: String, among files: [HubFile]) -> [HubFile] {
        files.filter { file in
            guard file.path.hasPrefix(path) else { return false }
            let ending = file.path.dropFirst(path.count)
            guard let data = ["_data", ".data"].first(where: ending.hasPrefix) else { return false }
            let number = ending.dropFirst(data.count)
            return number.isEmpty
                || number.first == "_" && number.count > 1 && number.dropFirst().allSatisfy(\.isNumber)
        }
    }
}
