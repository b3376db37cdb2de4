internal import Glibc
internal import SystemSupport

/// Disk space reserved for requests that forget: a file whose blocks such a request uses for its own file when the disk
/// is full. Its size is the maximum size of the largest journal after rewriting. Every call blocks.
package final class ReservedDiskSpace: Sendable {
    /// A name that no taught model can have.
    private static let name = ".reserve"
    /// The reserve grows in multiples of this number of bytes.
    private static let step = 16 << 10

    private struct State {
        /// The number of reserved bytes.
        var reservedBytes = 0
        /// The number of required bytes.
        var requestedBytes = 0
        /// The number of calls of ``ReservedDiskSpace/hold(_:)``.
        var holds = 0
    }

    private let path: String
    /// Held while the file is changed, so only threads that may block take it.
    private let state = Guarded(State())

    /// The reserve of the taught models in a folder.
    package init(folder: String) { path = folder + "/" + Self.name }

    /// Reserves at least `bytes`.
    /// - Throws: ``TeachingError/full(_:)`` if they are not available; the earlier reservation stays.
    package func hold(_ bytes: Int) throws(TeachingError) {
        try changing { state throws(TeachingError) in
            let before = state.requestedBytes
            state.holds &+= 1
            state.requestedBytes = max(before, bytes)
            do throws(TeachingError) {
                try grow(&state, to: state.requestedBytes)
            } catch {
                state.requestedBytes = before
                throw error
            }
        }
    }

    /// The number of calls of ``hold(_:)``.
    package var holds: Int { state.withLock { $0.holds } }

    /// Reserves exactly `bytes`; removes the file for 0.
    /// - Parameter holds: the value of ``holds`` before `bytes` was computed. If it has changed, `bytes` may not
    ///   include a model that has grown since, and the reservation stays.
    package func set(_ bytes: Int, since holds: Int) throws(TeachingError) {
        try changing { state throws(TeachingError) in
            guard state.holds == holds else { return }
            state = State(requestedBytes: bytes, holds: holds)
            guard bytes > 0 else {
                unlink(path)
                return
            }
            try grow(&state, to: bytes)
        }
    }

    /// Reserves the used bytes again. If other files have taken the space, the next change tries again.
    func restore() {
        try? changing { state throws(TeachingError) in try grow(&state, to: state.requestedBytes) }
    }

    /// Writes a file, in place of an existing one.
    /// - Parameter usesReserve: true if the file may use the reserve when the disk is full; ``restore()`` must be
    ///   called after the replaced file is gone.
    func write(
        _ file: String, usesReserve: Bool, _ body: (Descriptor) throws(TeachingError) -> Void
    ) throws(TeachingError) {
        do throws(TeachingError) {
            try Self.write(file, O_CREAT | O_TRUNC, body)
        } catch {
            unlink(file)
            guard usesReserve, case .full = error else { throw error }
            try changing { state throws(TeachingError) in
                guard rename(path, file) == 0 else { throw error }
                state.reservedBytes = 0
                do throws(TeachingError) {
                    try Self.write(file, 0, body)
                } catch {
                    unlink(file)
                    throw error
                }
            }
        }
    }

    private static func write(
        _ file: String, _ flags: Int32, _ body: (Descriptor) throws(TeachingError) -> Void
    ) throws(TeachingError) {
        let file = try Descriptor(file, O_WRONLY | O_CLOEXEC | flags)
        try body(file)
        try file.truncate()
        try file.sync()
    }

    private func grow(_ state: inout State, to bytes: Int) throws(TeachingError) {
        // A file cannot be larger than this process may write.
        var limit = rlimit()
        let isLimited = getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0
        let maximum = isLimited ? Int(clamping: limit.rlim_cur) : .max
        guard bytes > state.reservedBytes, maximum > state.reservedBytes else { return }
        // Readable too: if the file system cannot reserve blocks, posix_fallocate(3) reads before it writes.
        let file = try Descriptor(path, O_RDWR | O_CREAT | O_CLOEXEC)
        let (steps, _) = bytes.addingReportingOverflow(Self.step - 1 - (bytes - 1) % Self.step)
        for length in [max(bytes, steps), bytes] {
            do throws(TeachingError) {
                try file.allocate(min(length, maximum))
                state.reservedBytes = length
                return
            } catch {
                guard length == bytes else { continue }
                throw error
            }
        }
    }

    private func changing(_ body: (inout State) throws(TeachingError) -> Void) throws(TeachingError) {
        // The lock's body cannot throw.
        var problem: TeachingError?
        state.withLock { state in
            do throws(TeachingError) { try body(&state) } catch { problem = error }
        }
        if let problem { throw problem }
    }
}
