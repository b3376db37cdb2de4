internal import Bundles
internal import SystemSupport

/// A model that is served under an explicit name, from a path: a bundle, a bare model file, a folder that contains one
/// of them, or numbered versions.
public struct NamedModel: Sendable, Hashable {
    /// The NAME in `/v1/models/NAME` and `/v2/models/NAME`.
    public let name: String
    /// The file or folder, which need not exist yet: an absolute path.
    public let path: String

    /// A model of a name and a path; a relative path becomes absolute.
    public init(name: String, path: String) {
        self.name = name
        self.path = FilePath.absolute(path)
    }

    /// Reads `NAME=PATH`, or `PATH`, which gives the model the name of the file or folder. Nil if the path is missing,
    /// or the given name is empty or has a slash, a space or a control character.
    package init?(parsing text: String) {
        guard let equals = text.firstIndex(of: "=") else {
            guard Self.isPath(text) else { return nil }
            self.init(at: text)
            return
        }
        let name = text[..<equals], path = text[text.index(after: equals)...]
        guard !name.isEmpty, name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }), !path.isEmpty
        else { return nil }
        self.init(name: String(name), path: String(path))
    }

    /// The model at a path, under the name of its file or folder.
    package init(at path: String) {
        let path = FilePath.absolute(path)
        self.init(name: ModelBundle.servedName(of: path), path: path)
    }

    /// True if a word that may be a name or a path is a path: it has a slash, or the ending of a model file. Does not
    /// look at the disk, so that a mount that is missing for a moment changes nothing.
    package static func isPath(_ word: String) -> Bool {
        word.contains("/") || ModelBundle.isModelFile(word) || ModelBundle.isModelFolder(word)
    }
}

extension NamedModel {
    /// The folders that links of the model may lead into: its own, or, for a bare file, also the folder that contains
    /// the file and its weights.
    package var roots: [String] {
        guard ModelBundle.isModelFile(path), let slash = path.lastIndex(of: "/") else { return [path] }
        return [path, slash == path.startIndex ? "/" : String(path[..<slash])]
    }
}

/// The models that must be ready for `/readyz`.
public enum ReadyCondition: Sendable, Hashable {
    /// Every model that is loaded at start.
    case all
    /// One model at least.
    case any
    /// The models of these names.
    case models([String])

    /// Parses `all`, `any`, or names. No words mean all; nil if `all` or `any` is mixed with names.
    package init?(_ words: [String]) {
        switch words {
        case [], ["all"]: self = .all
        case ["any"]: self = .any
        default:
            guard !words.contains("all"), !words.contains("any") else { return nil }
            self = .models(words)
        }
    }
}
