internal import SystemSupport

/// The bytes of all bodies together, over all event loops.
///
/// Bodies take room as their bytes arrive, not by what they announce: a client that announces much and sends little
/// holds little. That alone could end with every byte of the budget held by bodies that are not whole and wait for
/// more. So one body at a time, the first that found no room, may go on into a reserve that holds one body of the
/// largest size: it can always be completed, is then handled, and gives its bytes back. The bound is strict, and
/// somebody always makes progress.
package final class ByteBudget: Sendable {
    private struct State {
        var used = 0
        var overdrawing: ObjectIdentifier?
        var waiting = false
    }

    /// The bound.
    package let total: Int
    private let ordinary: Int
    private let state = Guarded(State())
    private let wakeWaiters = Guarded<[@Sendable () -> Void]>([])

    /// A budget of `total` bytes for bodies of at most `largest` bytes.
    package init(total: Int, largest: Int) {
        self.total = total
        ordinary = max(0, total - largest)
    }

    /// Bytes that are taken.
    package var used: Int { state.withLock { $0.used } }

    /// Takes `bytes` for a body. False: no room now; every function given to `onRelease` is called once there is some.
    package func take(_ bytes: Int, body: ObjectIdentifier) -> Bool {
        state.withLock { state in
            if state.used + bytes <= ordinary {
                state.used += bytes
                return true
            }
            if state.used + bytes <= total, state.overdrawing == nil || state.overdrawing == body {
                state.overdrawing = body
                state.used += bytes
                return true
            }
            state.waiting = true
            return false
        }
    }

    /// The body is whole: what it took too much goes back, and another one may overdraw.
    package func settle(_ surplus: Int, body: ObjectIdentifier) {
        giveBack(surplus, body: body)
    }

    /// The body is gone.
    package func release(_ bytes: Int, body: ObjectIdentifier) {
        giveBack(bytes, body: body)
    }

    /// Calls `wake` from any thread whenever there is room again after somebody was refused.
    package func onRelease(_ wake: @escaping @Sendable () -> Void) {
        wakeWaiters.withLock { $0.append(wake) }
    }

    private func giveBack(_ bytes: Int, body: ObjectIdentifier) {
        let wake = state.withLock { state in
            state.used -= max(0, bytes)
            let freed = state.overdrawing == body
            if freed { state.overdrawing = nil }
            guard state.waiting, bytes > 0 || freed else { return false }
            state.waiting = false
            return true
        }
        if wake {
            for function in wakeWaiters.withLock({ $0 }) { function() }
        }
    }
}
