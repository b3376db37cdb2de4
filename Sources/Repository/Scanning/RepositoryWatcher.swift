internal import Dispatch
internal import Synchronization

/// Checks a repository's folders regularly, and loads changed models once they are complete and no longer change.
///
/// Checking is separate from loading, so that the owner of the repository can load when no other load is under way.
public final class RepositoryWatcher: Sendable {
    private let repository: ModelRepository
    private let state: Mutex<State>

    private struct State {
        var watch: FolderWatch<ModelRepository.EntryStamp>
        /// The entries to take in.
        var changed: Set<String> = []
        /// The entries that are still changing.
        var changing: Set<String> = []
    }

    /// Makes the first scan; the repository itself loads the entries of that scan. Reads the folders: blocks.
    public init(_ repository: ModelRepository) throws(RepositoryError) {
        self.repository = repository
        state = Mutex(State(watch: FolderWatch(try repository.stamps())))
    }

    /// Scans the folders. Blocks: reads them, and the names and times of the models' files.
    /// - Returns: whether there are entries to take in.
    public func scan() throws(RepositoryError) -> Bool {
        let stamps = try repository.stamps()
        let unreadable = Set(stamps.filter { $0.value.failure != nil }.keys)
        return state.withLock { state in
            let change = state.watch.scan(stamps, unreadable: unreadable)
            state.changed.formUnion(change.changed)
            state.changing = change.changing
            return !state.changed.isEmpty
        }
    }

    /// Takes in the changes that the scans found: new models are added and loaded, changed ones are loaded while the
    /// old ones answer, and those whose files are gone are dropped. Entries that are still being copied and new bundles
    /// that are incomplete are skipped.
    /// - Throws: the first folder that cannot be read; the changes are taken in the next time.
    public func applyChanges() async throws(RepositoryError) {
        let (changed, changing) = state.withLock { state in
            defer { state.changed = [] }
            return (state.changed.subtracting(state.changing), state.changing)
        }
        guard !changed.isEmpty else { return }
        let result: Result<Void, RepositoryError> = await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .userInitiated).async { [repository] in
                do throws(RepositoryError) {
                    try repository.discover(among: changed, ignoring: changing)
                    continuation.resume(returning: .success(()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        do throws(RepositoryError) {
            try result.get()
        } catch {
            state.withLock { $0.changed.formUnion(changed) }
            throw error
        }
        await repository.reload(at: changed)
    }
}
