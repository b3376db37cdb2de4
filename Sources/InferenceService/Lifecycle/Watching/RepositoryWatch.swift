internal import Dispatch
internal import Inference
internal import Repository
internal import ServiceCore
internal import Synchronization

/// Scans the models' folders at intervals, and reports changes.
final class RepositoryWatch: Sendable {
    private let interval: Duration
    private let watcher: Mutex<RepositoryWatcher?>
    private let repository: ModelRepository
    private let log: Log

    /// Makes the first scan, before the models are loaded, so that changes during the load are noticed. Blocks.
    /// - Parameter seconds: the interval; 0 never scans.
    init(_ repository: ModelRepository, every seconds: Double, log: Log) {
        interval = .seconds(seconds)
        self.repository = repository
        self.log = log
        watcher = Mutex(nil)
        if seconds > 0 { _ = watcherNow() }
    }

    /// Scans until the calling task is cancelled. Returns at once if the interval is 0.
    /// - Parameter onChange: called if ``applyChanges()`` has changes to apply.
    func run(onChange: @Sendable () -> Void) async {
        guard interval > .zero else { return }
        while !Task.isCancelled {
            try? await Task.sleep(for: interval)
            if await scan() { onChange() }
        }
    }

    /// Loads the changes. To be called by one task at a time, while nothing else is loaded.
    func applyChanges() async {
        guard let watcher = watcher.withLock({ $0 }) else { return }
        log.notice("the model folders have changed")
        do throws(RepositoryError) {
            try await watcher.applyChanges()
        } catch {
            complain(error)
        }
    }

    /// Scans on a thread that may block.
    private func scan() async -> Bool {
        await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .utility).async {
                guard let watcher = self.watcherNow() else { return continuation.resume(returning: false) }
                do throws(RepositoryError) {
                    continuation.resume(returning: try watcher.scan())
                } catch {
                    self.complain(error)
                    continuation.resume(returning: false)
                }
            }
        }
    }

    /// The watcher; created again if the folders could not be read before.
    private func watcherNow() -> RepositoryWatcher? {
        watcher.withLock { watcher in
            if let watcher { return watcher }
            do throws(RepositoryError) {
                watcher = try RepositoryWatcher(repository)
            } catch {
                complain(error)
            }
            return watcher
        }
    }

    private func complain(_ error: RepositoryError) {
        log.warning("\(error.message) (will be retried)", repeating: "repository_poll")
    }
}
