internal import JSON
package import SystemSupport

/// A file of a repository, as the hub states it.
package struct HubFile: Sendable, Hashable {
    package let path: String
    /// In bytes; nil if the hub states none that can be used.
    package var size: Int?
    package var digest: StatedDigest?
    /// The reason the file cannot be pulled, as text after its path.
    package var problem: String?

    package init(path: String, size: Int?, digest: StatedDigest?, problem: String? = nil) {
        (self.path, self.size, self.digest, self.problem) = (path, size, digest, problem)
    }
}

/// The files of a repository at one commit: the answer of `api/models/ORG/NAME/revision/REVISION?blobs=true`.
package struct HubListing: Sendable {
    /// 40 hexadecimal digits.
    package let commit: String
    package let files: [HubFile]

    /// The maximum size of the answer in bytes, and of its files.
    package static let largest = 16 << 20, maximumFiles = 100_000

    /// - Throws: what is wrong with the answer, as text after "the hub's answer".
    package init(_ text: [UInt8]) throws(CommandError) {
        let value: JSONValue
        do throws(JSONTextError) {
            value = try JSONTree.read(text, .json).value
        } catch {
            throw CommandError("is not JSON: \(error.reason)")
        }
        guard case .object(let members) = value else { throw CommandError("is \(value.kind): expected an object") }
        guard case .string(let commit)? = members["sha"], Hexadecimal.isDigest(commit, bytes: 20) else {
            throw CommandError("has no commit of 40 hexadecimal digits in \"sha\"")
        }
        guard case .array(let siblings)? = members["siblings"] else {
            throw CommandError("has no list of files in \"siblings\"")
        }
        guard siblings.count <= Self.maximumFiles else {
            throw CommandError("lists \(siblings.count) files: the limit is \(Self.maximumFiles)")
        }
        self.commit = commit.lowercased()
        var seen: Set<String> = []
        var files: [HubFile] = []
        for sibling in siblings {
            let file = try Self.file(sibling)
            guard seen.insert(file.path).inserted else { throw CommandError("lists \"\(file.path)\" twice") }
            files.append(file)
        }
        self.files = files
    }

    private static func file(_ value: JSONValue) throws(CommandError) -> HubFile {
        guard case .object(let members) = value, case .string(let path)? = members["rfilename"] else {
            throw CommandError("lists a file without a name (\"rfilename\")")
        }
        if let problem = HubPath.problem(path) {
            throw CommandError("lists a file that no repository has: its path \"\(path.prefix(200))\" \(problem)")
        }
        var file = HubFile(path: path, size: nil, digest: nil)
        switch members["size"] {
        case .integer(let size)? where size >= 0: file.size = size
        case nil, .null?: file.problem = "has no size in the hub's answer"
        case let other?: file.problem = "has an impossible size in the hub's answer: \(other.kind)"
        }
        if case .object(let large)? = members["lfs"] {
            if case .string(let digest)? = large["sha256"] ?? large["oid"], Hexadecimal.isDigest(digest, bytes: 32) {
                file.digest = .sha256(digest.lowercased())
            } else {
                file.problem = file.problem ?? "has no SHA-256 in the hub's answer"
            }
            if let stated = large["size"], file.problem == nil, stated != members["size"] {
                file.problem =
                    "has two sizes in the hub's answer, \(members["size"]?.kind ?? "none") and \(stated.kind)"
            }
        } else if case .string(let blob)? = members["blobId"], Hexadecimal.isDigest(blob, bytes: 20) {
            file.digest = .gitBlob(blob.lowercased())
        } else {
            file.problem = file.problem ?? "has no digest in the hub's answer"
        }
        return file
    }
}

/// Digests as text.
enum Hexadecimal {
    /// True for exactly this number of bytes in hexadecimal digits.
    static func isDigest(_ text: String, bytes: Int) -> Bool {
        text.utf8.count == 2 * bytes && text.utf8.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
    }
}
