internal import SystemSupport

/// The digest of a file that the hub states, in lower-case hexadecimal digits.
package enum StatedDigest: Sendable, Hashable {
    /// SHA-256 of the contents: of files in Git LFS.
    case sha256(String)
    /// The name that git gives to the contents: SHA-1 of `blob`, a blank, the size, a zero and the contents.
    case gitBlob(String)

    var text: String {
        switch self {
        case .sha256(let text), .gitBlob(let text): text
        }
    }
}

/// The digests of a file, computed while its bytes pass.
package struct FileDigest: Sendable {
    private var sha256 = SHA256()
    private var git = SHA1()
    private let stated: StatedDigest?

    /// - Parameters:
    ///   - stated: the digest to compare with; nil if none is stated.
    ///   - size: the size of the whole file in bytes.
    package init(stated: StatedDigest?, size: Int) {
        self.stated = stated
        if case .gitBlob = stated {
            let head = Array("blob \(size)\0".utf8)
            head.withUnsafeBytes { git.update($0) }
        }
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        sha256.update(bytes)
        if case .gitBlob = stated { git.update(bytes) }
    }

    /// The SHA-256 of the bytes, and the digest that differs from the stated one; that is nil if none differs.
    package consuming func finish() -> (sha256: String, differing: String?) {
        let sha256 = SHA256.text(sha256.finish())
        switch stated {
        case .sha256(let expected)?: return (sha256, sha256 == expected ? nil : sha256)
        case .gitBlob(let expected)?:
            let found = SHA256.text(git.finish())
            return (sha256, found == expected ? nil : found)
        case nil: return (sha256, nil)
        }
    }
}
