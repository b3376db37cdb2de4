import Synchronization

/// The scratch memory of finished calls.
final class ScratchPool: Sendable {
    private let free = Mutex<[Scratch]>([])
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    func take() -> Scratch {
        free.withLock { $0.popLast() } ?? Scratch()
    }

    func releaseAll() {
        let released = free.withLock { free in
            defer { free = [] }
            return free
        }
        withExtendedLifetime(released) {}
    }

    func give(_ scratch: Scratch) {
        scratch.trim()
        free.withLock { if $0.count < limit { $0.append(scratch) } }
    }
}
