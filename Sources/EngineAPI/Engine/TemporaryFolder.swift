internal import FoundationEssentials
internal import Glibc

/// Creates a folder that exists for the duration of a call.
package enum TemporaryFolder {
    /// The folder for temporary files.
    package static var place: String { getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp" }

    package static func with<R>(_ body: (String) throws(EngineError) -> R) throws(EngineError) -> R {
        var template = Array((place + "/ocelli-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw EngineError(
                kind: .failure, operation: "write a temporary file", detail: String(cString: strerror(errno)))
        }
        let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try body(folder)
    }
}
