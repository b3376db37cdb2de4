package import HTTPServer
internal import Settings

/// Where the daemon listens: on what `listen` says, or on the sockets that a service manager has passed.
///
/// Passed sockets take the place of `listen` unless `listen` itself speaks of them: whoever activates the daemon by a socket
/// has said there where it is to be reached, and its address could not be bound a second time. So the packaged
/// configuration serves with ocelli.socket and without it.
package struct ListenPlan: Sendable, Hashable {
    /// What to listen on.
    package let addresses: [ListenerAddress]
    /// The addresses of `listen` that passed sockets have taken the place of.
    package let replaced: [String]

    /// - Parameters:
    ///   - listen: the setting.
    ///   - passed: the sockets of this process, by `LISTEN_FDS`.
    package init(_ listen: [String], passed: SystemdSockets) throws(StartupError) {
        var addresses: [ListenerAddress] = []
        var namesPassed = false
        var wrong: [String] = []
        for text in listen {
            guard let address = ListenerAddress(parsing: text) else {
                wrong.append("\"\(text)\"")
                continue
            }
            switch address {
            case .systemd, .systemdNamed: namesPassed = true
            case .tcp, .unix: break
            }
            addresses.append(address)
        }
        guard wrong.isEmpty else {
            throw StartupError(
                "cannot listen on \(wrong.joined(separator: ", ")): expected HOST:PORT, [IPV6]:PORT, :PORT, unix:PATH or systemd"
            )
        }
        let isReplaced = !passed.sockets.isEmpty && !namesPassed
        self.addresses = isReplaced ? [.systemd] : addresses
        replaced = isReplaced ? listen : []
    }
}
