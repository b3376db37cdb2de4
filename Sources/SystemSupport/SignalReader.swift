internal import CSystem
internal import Glibc

/// Receives signals on its own thread, from a signalfd(2).
///
/// The signals are blocked in every thread and keep their dispositions: a signal stays pending in the kernel until it
/// is read, and none is lost. Signals of one kind do not queue: several that arrive before the first is read count as
/// one. Signal handlers, and libdispatch's signal sources, which use them, have moments in which a signal has no
/// receiver.
package final class SignalReader: Sendable {
    package enum Signal: Sendable, CaseIterable {
        case hangUp
        /// Signals to end the daemon: by a user or service manager, at a power failure, or at the limit of processor
        /// time.
        case terminate, interrupt, quit, powerFailure, processorTime

        package var number: Int32 {
            switch self {
            case .hangUp: SIGHUP
            case .terminate: SIGTERM
            case .interrupt: SIGINT
            case .quit: SIGQUIT
            case .powerFailure: SIGPWR
            case .processorTime: SIGXCPU
            }
        }
    }

    /// Blocks the signals for the calling thread and all threads that it starts. To be called before any other thread
    /// exists: a thread that does not block them would receive them, and they would end the process.
    ///
    /// All other signals that would end the process without a fault of its own are ignored: SIGPIPE (writing to a
    /// closed pipe is an error of the write), SIGUSR1, SIGUSR2, SIGALRM and similar ones. Programs started by the
    /// daemon would inherit both, so `csys_spawn` starts them with nothing blocked and no signal ignored.
    package static func block() {
        csys_signals_ignore()
        let numbers = Signal.allCases.map(\.number)
        // It fails only for numbers that are not signals (pthread_sigmask(3)).
        _ = csys_signals_block(numbers, Int32(numbers.count))
    }

    private let descriptor: Int32
    private let deliver: @Sendable (Signal) -> Void
    private let fail: @Sendable (String) -> Void

    private init(
        _ descriptor: Int32, deliver: @escaping @Sendable (Signal) -> Void, fail: @escaping @Sendable (String) -> Void
    ) {
        self.descriptor = descriptor
        self.deliver = deliver
        self.fail = fail
    }

    /// Starts to read, until the process ends; signals that arrived since ``block()`` are delivered first.
    /// - Parameters:
    ///   - deliver: receives each signal, one at a time, on the reading thread; must not wait.
    ///   - fail: receives the reason if signals can no longer be read.
    package static func start(
        deliver: @escaping @Sendable (Signal) -> Void, fail: @escaping @Sendable (String) -> Void
    ) throws(CommandError) {
        let numbers = Signal.allCases.map(\.number)
        let descriptor = csys_signalfd(numbers, Int32(numbers.count), false)
        guard descriptor >= 0 else {
            throw CommandError("cannot receive signals: \(SystemError("signalfd", number: -descriptor).message)")
        }
        let reader = SignalReader(descriptor, deliver: deliver, fail: fail)
        do throws(SystemError) {
            try SystemThread.start("signals") { reader.run() }
        } catch {
            csys_close(descriptor)
            throw CommandError("cannot receive signals: \(error.message)")
        }
    }

    private func run() {
        while true {
            let number = csys_signalfd_read(descriptor)
            guard number >= 0 else {
                return fail("can no longer receive signals: \(SystemError("read", number: -number).message)")
            }
            if let signal = Signal.allCases.first(where: { $0.number == number }) { deliver(signal) }
        }
    }
}
