internal import JSON
internal import SystemSupport

/// The record that `ocelli pull` writes into a folder: the origin of its files, and their digests.
package struct PullRecord: Sendable, Equatable {
    package struct File: Sendable, Equatable {
        /// In the folder.
        package let path: String
        package let size: Int
        /// SHA-256 of the received bytes.
        package let sha256: String
        /// The property that was compared with the server's statement.
        package let checked: Check
        /// The name that git gives to the contents, if that was compared.
        package let gitBlob: String?

        package init(path: String, size: Int, sha256: String, checked: Check, gitBlob: String? = nil) {
            (self.path, self.size, self.sha256, self.checked, self.gitBlob) = (path, size, sha256, checked, gitBlob)
        }
    }

    package enum Check: String, Sendable {
        case sha256
        case gitBlob = "git-blob"
        /// The server states no digest.
        case length
    }

    /// The address of the repository or file, without user and query.
    package let address: String
    /// The commit; for the address of a file its `ETag` or date, or empty.
    package let revision: String
    /// The path of the model in the folder; empty for a SavedModel at its top.
    package let model: String
    /// The path of the model in the repository.
    package let source: String
    package let files: [File]

    package init(address: String, revision: String, model: String, source: String, files: [File]) {
        (self.address, self.revision, self.model, self.source, self.files) = (address, revision, model, source, files)
    }

    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("pulled_by", "ocelli \(OcelliVersion.number)")
            writer.member("address", address)
            writer.member("revision", revision)
            writer.member("source", source)
            writer.member("model", model)
            writer.key("files")
            writer.array { writer in
                for file in files {
                    writer.object { writer in
                        writer.member("path", file.path)
                        writer.member("size", file.size)
                        writer.member("sha256", file.sha256)
                        if let blob = file.gitBlob { writer.member("git_blob", blob) }
                        writer.member("checked", file.checked.rawValue)
                    }
                }
            }
        }
        return writer.bytes + [0x0A]
    }

    /// Nil if the text is not such a record.
    package init?(_ text: [UInt8]) {
        guard let tree = try? JSONTree.read(text, .json), case .object(let members) = tree.value,
            case .string(let address)? = members["address"], case .string(let revision)? = members["revision"],
            case .string(let model)? = members["model"], case .string(let source)? = members["source"],
            case .array(let values)? = members["files"]
        else { return nil }
        var files: [File] = []
        for value in values {
            guard case .object(let members) = value, case .string(let path)? = members["path"],
                HubPath.problem(path) == nil,
                case .integer(let size)? = members["size"], case .string(let sha256)? = members["sha256"],
                case .string(let text)? = members["checked"], let checked = Check(rawValue: text)
            else { return nil }
            var gitBlob: String?
            if case .string(let text)? = members["git_blob"] { gitBlob = text }
            files.append(File(path: path, size: size, sha256: sha256, checked: checked, gitBlob: gitBlob))
        }
        self.init(address: address, revision: revision, model: model, source: source, files: files)
    }
}
