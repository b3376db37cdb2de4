internal import Synchronization

/// Says to another thread that its work is no longer wanted.
final class CancellationFlag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
}
