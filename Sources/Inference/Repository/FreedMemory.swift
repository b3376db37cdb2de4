internal import CSystem
internal import Dispatch
internal import Synchronization

/// Gives the memory of models that are gone back to the system.
///
/// The engine compiles on many threads, each of which has an arena of malloc's: what a model leaves behind lies in pieces
/// between what others still use, and stays with the process. Over hundreds of reloads that adds up.
enum FreedMemory {
    private static let isScheduled = Atomic<Bool>(false)

    /// Some time after a model was let go of: the last of its predictions have ended then. Many calls are one.
    static func giveBackSoon() {
        guard !isScheduled.exchange(true, ordering: .relaxed) else { return }
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .seconds(1)) {
            isScheduled.store(false, ordering: .relaxed)
            csys_give_back_memory()
        }
    }
}
