internal import FoundationEssentials
internal import Glibc
internal import Synchronization
internal import SystemSupport

/// The bundle that a command writes: made in a work folder next to its destination, and moved there when it is
/// complete.
struct BundleOutput: Sendable {
    /// The destination of the bundle, without a slash at the end.
    let path: String
    /// The work folder. Its name begins with a dot, so a daemon that serves the parent folder ignores it.
    let work: String
    private let overwrites: Bool

    /// Throws if the destination exists and is not a bundle that may be replaced.
    /// - Parameter verb: for the name of the work folder.
    init(_ given: String, overwrites: Bool, verb: String) throws(CommandError) {
        let path = FilePath.withoutSlashesAtEnd(given)
        if FileManager.default.fileExists(atPath: path) {
            guard overwrites else {
                throw CommandError("\(path) already exists: use --force to replace it, or choose another folder")
            }
            guard FileManager.default.fileExists(atPath: path + "/model.json") else {
                throw CommandError("\(path) is not a bundle, it has no model.json: --force replaces bundles only")
            }
        }
        let name = FilePath.name(of: path) ?? "bundle"
        (self.path, self.overwrites) = (path, overwrites)
        work = "\(path.dropLast(name.count)).\(name).\(verb)-\(getpid())"
    }

    /// Runs `body`, and removes the work folder afterwards. A signal stops the process, removes the folder and ends the
    /// program.
    /// - Parameter cleared: called when the folder is removed.
    func run<Value>(
        stopping process: @escaping @Sendable () -> Void, cleared: @escaping @Sendable () -> Void,
        _ body: () async throws -> Value
    ) async throws -> Value {
        // A signal locks this for ever, so that the stopped run can neither end the program first nor remove the same
        // files at the same time.
        let ending = Mutex(())
        let ends: @Sendable (Int32) -> Void = { status in
            ending.withLock { _ in
                process()
                removeWork()
                cleared()
                Process.exit(status)
            }
        }
        try SignalReader.start(
            deliver: { ends(128 + $0.number) },
            // Otherwise only SIGKILL could end the program.
            fail: { _ in ends(1) })
        defer {
            ending.withLock { _ in
                removeWork()
                cleared()
            }
        }
        return try await body()
    }

    /// Removes the work folder. It is renamed first, so that nothing is written to it meanwhile.
    private func removeWork() {
        let ended = work + "-ended"
        if rename(work, ended) == 0 { try? FileManager.default.removeItem(atPath: ended) }
    }

    /// Moves a bundle to the destination.
    func place(_ bundle: String) throws(CommandError) {
        try Self.move(bundle, to: path, keepingAs: overwrites ? work + "/replaced" : nil)
    }

    /// Moves a folder to its destination.
    /// - Parameter old: the name that the folder at the destination gets, to be removed only after it was replaced; nil
    ///   if there must be none.
    static func move(_ bundle: String, to path: String, keepingAs old: String?) throws(CommandError) {
        let isReplaced = old.map { rename(path, $0) == 0 } ?? false
        guard rename(bundle, path) == 0 else {
            let reason = SystemError.words(errno)
            if isReplaced, let old { _ = rename(old, path) }
            throw CommandError("\(path) cannot be written: \(reason)")
        }
    }
}
