internal import CONNXRuntime
internal import EngineAPI
internal import Glibc
package import Synchronization
internal import SystemSupport

/// ONNX Runtime's library, opened at run time, with its environment.
///
/// Sendable: all pointers are set once, and any thread may use the objects that they point to.
final class ORTLibrary: @unchecked Sendable {
    let api: UnsafePointer<ort_api>
    /// The version, such as `1.28.0`.
    let version: String
    /// The digest of the library's file.
    let digest: LibraryDigest
    private let environment = Mutex<Result<Environment, EngineError>?>(nil)
    private let trim = Mutex<ORTArenaTrim?>(nil)

    /// The environment of all sessions. Exists for the lifetime of the process.
    ///
    /// Sendable: the pointers never change, and the library allows every thread to use the objects that they point to.
    struct Environment: @unchecked Sendable {
        let pointer: OpaquePointer
        /// The allocator of names.
        let allocator: OpaquePointer
        /// The description of the process's own memory, for tensors.
        let memory: OpaquePointer
    }

    /// The opened library and its path: at most one, because a library is never closed.
    private static let opened = Mutex<(path: String, library: ORTLibrary)?>(nil)

    /// Opens the library at a path, once.
    /// - Parameter path: a file, or a folder that contains one; empty for the library included with Ocelli.
    /// - Throws: the reason it cannot be used, and the remedy.
    static func shared(_ path: String) throws(EngineError) -> ORTLibrary {
        let result: Result<ORTLibrary, EngineError> = opened.withLock { opened in
            Result { () throws(EngineError) in
                let file = try ORTPath.file(path)
                if let opened {
                    guard opened.path == file else {
                        throw missing("\(opened.path) is in use: restart Ocelli to use \(file)")
                    }
                    return opened.library
                }
                let library = try ORTLibrary(file: file)
                opened = (file, library)
                return library
            }
        }
        return try result.get()
    }

    static func missing(_ reason: String) -> EngineError {
        ORTPath.library.missing(reason)
    }

    private init(file: String) throws(EngineError) {
        // Set here because programs that embed this module have not set it in `main`. Libraries that are newer than the
        // included one would otherwise send and write telemetry without consent.
        setenv("ORT_DISABLE_TELEMETRY", "1", 0)
        var text: UnsafePointer<CChar>?
        var reason = [CChar](repeating: 0, count: 512)
        guard let api = ort_open(file, &text, &reason, reason.count) else {
            let reason = String(decoding: reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            throw Self.missing("\(file): \(reason)")
        }
        self.api = api
        digest = LibraryDigest(file: file)
        version = text.map { String(cString: $0) } ?? ""
    }

    /// The environment. The first call creates it, which takes 30 ms.
    func prepared() throws(EngineError) -> Environment {
        let result: Result<Environment, EngineError> = environment.withLock { environment in
            let result = environment ?? Result { () throws(EngineError) in try makeEnvironment() }
            environment = result
            return result
        }
        return try result.get()
    }

    private func makeEnvironment() throws(EngineError) -> Environment {
        // Fatal messages only: errors are returned as statuses.
        let quiet: Int32 = 4
        let pointer = try make("start") { ort_create_env(api, quiet, "ocelli", &$0) }
        let allocator = try make("find its allocator") { ort_default_allocator(api, &$0) }
        let memory = try make("describe its memory") { ort_create_cpu_memory_info(api, 1, 0, &$0) }
        let arena = try make("configure its memory") { pointer in
            ORTMemory.arena { keys, values, count in ort_create_arena_cfg(api, keys, values, count, &pointer) }
        }
        defer { ort_release_arena_cfg(api, arena) }
        try check("make its memory", ort_create_and_register_allocator(api, pointer, memory, arena))
        return Environment(pointer: pointer, allocator: allocator, memory: memory)
    }

    /// Releases free memory of the arena; created by the first call.
    func arenaTrim() throws(EngineError) -> ORTArenaTrim {
        try trim.withLock { trim in
            Result { () throws(EngineError) in
                if let trim { return trim }
                let made = try ORTArenaTrim(self)
                trim = made
                return made
            }
        }.get()
    }

    // MARK: Calls

    /// Checks a status, and releases it.
    func check(
        _ operation: @autoclosure () -> String, kind: EngineError.Kind = .failure, _ status: OpaquePointer?
    ) throws(EngineError) {
        guard let failure = take(status) else { return }
        throw EngineError(kind: kind, operation: operation(), detail: ORTMessage.summary(failure.message))
    }

    /// A status's code and message; nil for success.
    func take(_ status: OpaquePointer?) -> (code: Int32, message: String)? {
        guard let status else { return nil }
        defer { ort_release_status(api, status) }
        return (ort_code(api, status), String(cString: ort_message(api, status)))
    }

    /// Calls a function that creates an object.
    func make(
        _ operation: @autoclosure () -> String, kind: EngineError.Kind = .failure,
        _ call: (inout OpaquePointer?) -> OpaquePointer?
    ) throws(EngineError) -> OpaquePointer {
        var pointer: OpaquePointer?
        try check(operation(), kind: kind, call(&pointer))
        guard let pointer else {
            throw EngineError(kind: kind, operation: operation(), detail: "ONNX Runtime returned nothing")
        }
        return pointer
    }
}

/// An object of the library, released with the last reference.
///
/// Sendable: the pointer never changes; objects that two threads must not use at the same time are guarded by the types
/// that own their handles.
final class ORTHandle: @unchecked Sendable {
    let pointer: OpaquePointer
    private let release: (OpaquePointer) -> Void

    init(_ pointer: OpaquePointer, release: @escaping (OpaquePointer) -> Void) {
        self.pointer = pointer
        self.release = release
    }

    deinit { release(pointer) }
}

/// The memory of all sessions: one arena with a limit.
package enum ORTMemory {
    /// The maximum number of bytes of all inferences together, excluding weights; 0 for no limit. Must be set before
    /// the first session is created.
    package static let maximum = Atomic<Int>(0)
    /// The maximum for each graphics processor.
    package static let deviceLimit = Atomic<Int>(0)

    /// Calls `body` with the arena's configuration.
    static func arena<R>(
        _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<Int>, Int) -> R
    ) -> R {
        // It grows by the requested size, not by powers of two.
        let sameAsRequested = 1
        return CStrings.with(["max_mem", "arena_extend_strategy"]) { keys in
            keys.withMemoryRebound(to: UnsafePointer<CChar>?.self, capacity: 2) { keys in
                body(keys, [maximum.load(ordering: .relaxed), sameAsRequested], 2)
            }
        }
    }
}
