internal import CSystem
internal import Glibc
internal import SystemSupport

/// Receives signals on its own thread, from a signalfd(2).
///
/// The signals are blocked in every thread and keep their dispositions: one that comes at any moment stays pending in
/// the kernel until it is read, and none is lost. Signals of one kind do not queue: several that come before the first
/// is read are one. Handlers and libdispatch's signal sources, which are made of them, have moments in which a signal
/// has no receiver.
package final class SignalReader: Sendable {
    package enum Signal: Sendable, CaseIterable {
        case hangUp
        /// These ask for the end: the power fails, the limit of processor time is reached, or somebody says so.
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

    /// Blocks the signals for the calling thread and all that it starts from now on. To be called before there is
    /// another: a thread that does not block them would take them, and they would end the process. All others that
    /// would end it without being a fault of its own are ignored: SIGPIPE (a vanished reader is an error of a write),
    /// SIGUSR1, SIGUSR2, SIGALRM and their like. A program that the daemon starts would inherit both: it is started
    /// with nothing blocked, and no signal ignored (`csys_spawn`).
    static func block() {
        csys_signals_ignore()
        let numbers = Signal.allCases.map(\.number)
        // Fails for numbers that are not signals only (pthread_sigmask(3)).
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

    /// Starts to read, until the process ends; signals that came since ``block()`` come first.
    /// - Parameters:
    ///   - deliver: receives each signal, one at a time, on the reading thread; should not wait for anything.
    ///   - fail: receives the reason why no signal can be read any more.
    package static func start(
        deliver: @escaping @Sendable (Signal) -> Void, fail: @escaping @Sendable (String) -> Void
    ) throws(StartupError) {
        let numbers = Signal.allCases.map(\.number)
        let descriptor = csys_signalfd(numbers, Int32(numbers.count), false)
        guard descriptor >= 0 else {
            throw StartupError("cannot receive signals: \(SystemError("signalfd", number: -descriptor).message)")
        }
        let reader = SignalReader(descriptor, deliver: deliver, fail: fail)
        do throws(SystemError) {
            try SystemThread.start("signals") { reader.run() }
        } catch {
            csys_close(descriptor)
            throw StartupError("cannot receive signals: \(error.message)")
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
