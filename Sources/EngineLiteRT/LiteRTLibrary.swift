internal import CLiteRT
internal import COpenVINO
internal import EngineAPI
internal import Synchronization

/// LiteRT's library, opened at run time, with its environment.
///
/// Sendable: the functions and the pointer are set once, and any thread may use the environment.
final class LiteRTLibrary: @unchecked Sendable {
    let api: litert_api
    /// The version, such as `2.3.0`, of the file's name; empty if the name has none.
    let version: String
    let environment: OpaquePointer
    /// The digest of the library's file.
    let digest: LibraryDigest

    private static let place = EngineLibrary(
        engine: "LiteRT", setting: "litert_path", package: "ocelli-litert", folder: "litert", name: "libLiteRt.so")
    /// The opened library and its path: at most one, because a library is never closed.
    private static let opened = Mutex<(path: String, library: LiteRTLibrary)?>(nil)

    /// Opens the library at a path, once.
    /// - Parameter path: a file, or a folder that contains one; empty for the library included with Ocelli.
    /// - Throws: the reason it cannot be used, and the remedy.
    static func shared(_ path: String) throws(EngineError) -> LiteRTLibrary {
        let function: @convention(c) (UnsafeMutablePointer<ov_version_t>?) -> ov_status_e = ov_get_openvino_version
        let file = try place.file(path, nextTo: unsafeBitCast(function, to: UnsafeRawPointer.self))
        let result: Result<LiteRTLibrary, EngineError> = opened.withLock { opened in
            Result { () throws(EngineError) in
                if let opened {
                    guard opened.path == file else {
                        throw place.missing("\(opened.path) is in use: restart Ocelli to use \(file)")
                    }
                    return opened.library
                }
                let library = try LiteRTLibrary(file: file)
                opened = (file, library)
                return library
            }
        }
        return try result.get()
    }

    private init(file: String) throws(EngineError) {
        var reason = [CChar](repeating: 0, count: 512)
        let functions = UnsafeMutablePointer<litert_api>.allocate(capacity: 1)
        defer { functions.deallocate() }
        guard litert_open(file, functions, &reason, reason.count) else {
            let reason = String(decoding: reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            throw Self.place.missing("\(file): \(reason)")
        }
        api = functions.pointee
        digest = LibraryDigest(file: file)
        version = Self.place.version(ofFile: file)
        // Without the first option it opens accelerators by bare names; the second silences it.
        let integer: Int32 = 2
        let options = [
            litert_environment_option(tag: 24, padding_1: 0, type: integer, padding_2: 0, value: 1),
            litert_environment_option(tag: 25, padding_1: 0, type: integer, padding_2: 0, value: 4),
        ]
        var environment: OpaquePointer?
        let status = api.create_environment(Int32(options.count), options, &environment)
        guard status == 0, let environment else {
            throw Self.place.missing("\(file): it does not start (\(LiteRTStatus.text(status)))")
        }
        self.environment = environment
    }

}

/// LiteRT's statuses.
enum LiteRTStatus {
    /// A status in words.
    static func text(_ status: Int32) -> String {
        switch status {
        case 1: "an argument is not valid"
        case 2: "there is not enough memory"
        case 3: "it failed"
        case 5: "it is not supported"
        case 500, 501: "the file is damaged, or of a form that is not supported"
        case 504: "it cannot be compiled"
        case 1000: "an index is out of range"
        default: "status \(status)"
        }
    }

    /// - Throws: an error with the status in words, unless it is 0.
    static func check(_ operation: String, kind: EngineError.Kind = .failure, _ status: Int32) throws(EngineError) {
        guard status != 0 else { return }
        throw EngineError(kind: kind, operation: operation, detail: "LiteRT: \(text(status))")
    }
}
