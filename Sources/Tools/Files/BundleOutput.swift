internal import FoundationEssentials
internal import Glibc
internal import InferenceService
internal import Synchronization
internal import SystemSupport

/// The bundle that a command writes: made in a work folder beside its place, and moved there whole at the end.
struct BundleOutput: Sendable {
    /// The place of the bundle, without a slash at its end.
    let path: String
    /// Beside it. Its name begins with a dot: a daemon that serves the folder passes over it.
    let work: String
    private let overwrites: Bool

    /// Throws where there is something else than a bundle that may be replaced.
    /// - Parameter verb: for the name of the work folder.
    init(_ given: String, overwrites: Bool, verb: String) throws(StartupError) {
        var path = given
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        if FileManager.default.fileExists(atPath: path) {
            guard overwrites else {
                throw StartupError("\(path) already exists: use --force to replace it, or give another folder")
            }
            guard FileManager.default.fileExists(atPath: path + "/model.json") else {
                throw StartupError("\(path) is not a bundle, it has no model.json: --force replaces bundles only")
            }
        }
        let name = path.split(separator: "/").last.map(String.init) ?? "bundle"
        (self.path, self.overwrites) = (path, overwrites)
        work = "\(path.dropLast(name.count)).\(name).\(verb)-\(getpid())"
    }

    /// Runs `body`, and removes the work folder behind it. A signal stops the process, removes the folder and ends the
    /// program.
    /// - Parameter cleared: called when the folder is gone.
    func run<Value>(
        stopping process: @escaping @Sendable () -> Void, cleared: @escaping @Sendable () -> Void,
        _ body: () async throws -> Value
    ) async throws -> Value {
        // Held for good by a signal: the run that it stops must not end the program first, nor remove the same files
        // beside it.
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
            // Nothing could end it any more but SIGKILL.
            fail: { _ in ends(1) })
        defer {
            ending.withLock { _ in
                removeWork()
                cleared()
            }
        }
        return try await body()
    }

    /// The folder is renamed first, so that nothing is written into it meanwhile.
    private func removeWork() {
        let ended = work + "-ended"
        if rename(work, ended) == 0 { try? FileManager.default.removeItem(atPath: ended) }
    }

    /// Moves a bundle to the place. The old one is removed only after the new one has replaced it.
    func place(_ bundle: String) throws(StartupError) {
        let old = work + "/replaced"
        let isReplaced = overwrites && rename(path, old) == 0
        guard rename(bundle, path) == 0 else {
            let reason = SystemError.words(errno)
            if isReplaced { _ = rename(old, path) }
            throw StartupError("\(path) cannot be written: \(reason)")
        }
    }
}
