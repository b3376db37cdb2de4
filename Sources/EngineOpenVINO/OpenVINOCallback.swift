internal import Synchronization

/// The callback of an infer request: runs an action once, on the engine's thread, when the inference has ended.
final class OpenVINOCallback: Sendable {
    /// A structure: a closure that is itself the value of a `Mutex` is wrapped again each time that the lock is taken.
    private struct Armed {
        var action: (@Sendable () -> Void)?
    }

    private let armed = Mutex(Armed())
    /// Records that the inference has ended; nil where a failure cannot change the answers of other requests.
    private let network: OpenVINONetwork?
    let handle: OpenVINOHandle

    /// - Parameters:
    ///   - network: the network of the request, if its shapes are known only when it runs.
    ///   - handle: the infer request.
    init(_ network: OpenVINONetwork?, _ handle: OpenVINOHandle) {
        self.network = network
        self.handle = handle
    }

    func arm(_ action: @escaping @Sendable () -> Void) {
        armed.withLock { $0.action = action }
    }

    func disarm() {
        armed.withLock { $0.action = nil }
    }

    func fire() {
        let action = armed.withLock { armed in
            defer { armed.action = nil }
            return armed.action
        }
        network?.ended(self)
        action?()
    }
}
