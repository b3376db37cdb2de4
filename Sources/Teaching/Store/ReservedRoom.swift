internal import Glibc
internal import SystemSupport

/// Disk space that is reserved for requests that forget: a file with blocks that become those of the file that such a
/// request writes when the disk is full. It is as large as the largest journal can be when it is rewritten. Blocks.
package final class ReservedRoom: Sendable {
    /// No taught model can have this name.
    private static let name = ".reserve"
    /// The reserve grows by multiples of this.
    private static let step = 16 << 10

    private struct State {
        /// The bytes that are reserved.
        var held = 0
        /// The required bytes.
        var wanted = 0
        /// Calls of ``ReservedRoom/hold(_:)`` so far.
        var holds = 0
    }

    private let path: String
    /// Held while the file is changed: nothing that must not block takes it.
    private let state = Guarded(State())

    /// The reserve of the taught models in a folder.
    package init(folder: String) { path = folder + "/" + Self.name }

    /// Reserves at least so many bytes.
    /// - Throws: ``TeachingError/full(_:)`` where there are not so many: what was reserved before is still.
    package func hold(_ bytes: Int) throws(TeachingError) {
        try changing { state throws(TeachingError) in
            let before = state.wanted
            state.holds &+= 1
            state.wanted = max(before, bytes)
            do throws(TeachingError) {
                try grow(&state, to: state.wanted)
            } catch {
                state.wanted = before
                throw error
            }
        }
    }

    /// Calls of ``hold(_:)`` so far.
    package var holds: Int { state.withLock { $0.holds } }

    /// Reserves so many bytes, and no more: for none there is no file.
    /// - Parameter holds: ``holds`` from before `bytes` was computed. If more was reserved since, perhaps for a model
    ///   whose length `bytes` does not include, nothing changes.
    package func set(_ bytes: Int, since holds: Int) throws(TeachingError) {
        try changing { state throws(TeachingError) in
            guard state.holds == holds else { return }
            state = State(wanted: bytes, holds: holds)
            guard bytes > 0 else {
                unlink(path)
                return
            }
            try grow(&state, to: bytes)
        }
    }

    /// Reserves again what was used. Where others have taken it, the next change does.
    func restore() {
        try? changing { state throws(TeachingError) in try grow(&state, to: state.wanted) }
    }

    /// Writes a file, in place of an existing one.
    /// - Parameter usesReserve: true if the file takes the reserve where the disk is full: ``restore()`` must be
    ///   called when what it replaces is gone.
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
                state.held = 0
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
        // No file can be larger than this process may write.
        var limit = rlimit()
        let isLimited = getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0
        let most = isLimited ? Int(clamping: limit.rlim_cur) : .max
        guard bytes > state.held, most > state.held else { return }
        // Readable too: where the file system cannot reserve blocks, posix_fallocate(3) reads before it writes.
        let file = try Descriptor(path, O_RDWR | O_CREAT | O_CLOEXEC)
        let (steps, _) = bytes.addingReportingOverflow(Self.step - 1 - (bytes - 1) % Self.step)
        for length in [max(bytes, steps), bytes] {
            do throws(TeachingError) {
                try file.allocate(min(length, most))
                state.held = length
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
