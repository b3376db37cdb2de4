package import HTTPServer
internal import HTTPWire
internal import Settings
package import SystemSupport

/// The addresses on which the daemon listens, and their routes: those of `listen`, or the sockets that a service
/// manager passed.
///
/// Passed sockets replace `listen` unless `listen` itself names them. With socket activation the socket unit has the
/// address, and the daemon could not bind it a second time. Thus the packaged configuration works with and without
/// ocelli.socket.
package struct ListenPlan: Sendable, Hashable {
    /// The addresses and sockets to listen on.
    package let listeners: [ListenerConfiguration]
    /// The routes of each listener; nil for all.
    package let routes: [Set<AccessClass>?]
    /// The addresses of `listen` that passed sockets replace.
    package let replaced: [String]

    /// The addresses to listen on.
    package var addresses: [ListenerAddress] { listeners.map(\.address) }

    /// - Parameters:
    ///   - listen: the setting.
    ///   - passed: the sockets of this process, by `LISTEN_FDS`.
    package init(_ listen: [String], passed: SystemdSockets) throws(CommandError) {
        var listeners: [ListenerConfiguration] = []
        var routes: [Set<AccessClass>?] = []
        var namesPassed = false
        var problems: [String] = []
        var notAddresses: [String] = []
        var withOptions: [String] = []
        for text in listen {
            do throws(CommandError) {
                guard let (listener, own) = try Self.listener(text) else {
                    notAddresses.append(
                        "\"\(text)\"" + (Self.meant(by: text).map { " (did you mean \"\($0)\"?)" } ?? ""))
                    continue
                }
                if own != nil || listener.proxyHeader != nil { withOptions.append(text) }
                switch listener.address {
                case .systemd, .systemdNamed: namesPassed = true
                case .tcp, .unix: break
                }
                listeners.append(listener)
                routes.append(own)
            } catch {
                problems.append("\(error)")
            }
        }
        if !notAddresses.isEmpty {
            problems.append(
                "cannot listen on \(notAddresses.joined(separator: ", ")): expected HOST:PORT, [IPV6]:PORT, :PORT (PORT 0 to 65535), unix:PATH or "
                    + "systemd, optionally followed by ?routes=infer,read,admin, ?proxy=v1 or ?proxy=v2 (listen)")
        }
        let isReplaced = !passed.sockets.isEmpty && !namesPassed
        if listen.isEmpty, !isReplaced {
            problems.append("no address to listen on: set HOST:PORT or unix:PATH (listen)")
        }
        if isReplaced, !withOptions.isEmpty {
            problems.append(
                "the passed sockets would replace \(withOptions.joined(separator: ", ")) without the options: set them with "
                    + "\"systemd:NAME?routes=...\" (listen)")
        }
        guard problems.isEmpty else { throw CommandError(problems.joined(separator: "; "), isConfiguration: true) }
        self.listeners = isReplaced ? [ListenerConfiguration(.systemd)] : listeners
        self.routes = isReplaced ? [nil] : routes
        replaced = isReplaced ? listen : []
    }

    /// The address that an invalid one probably stands for: only a port or a host, a URL, a path, an IPv6 address
    /// without brackets.
    private static func meant(by text: String) -> String? {
        var text = text
        for scheme in ["http://", "https://", "tcp://"] where text.hasPrefix(scheme) {
            text = String(text.dropFirst(scheme.count).prefix { $0 != "/" })
            if ListenerAddress(parsing: text) != nil { return text }
        }
        let colons = text.utf8.count { $0 == UInt8(ascii: ":") }
        let candidate: String
        if UInt16(text) != nil {
            candidate = "127.0.0.1:" + text
        } else if text.hasPrefix("/") {
            candidate = "unix:" + text
        } else if colons >= 2, let last = text.lastIndex(of: ":"), !text.hasPrefix("[") {
            // The last group may be a port: `::1:8080`.
            let port = text[text.index(after: last)...]
            let isPort = UInt16(port) != nil && text[..<last].last != ":"
            candidate = isPort ? "[\(text[..<last])]:\(port)" : "[\(text)]:8080"
        } else if colons == 0, text == "localhost" || text.contains(".") {
            candidate = text + ":8080"
        } else {
            return nil
        }
        return ListenerAddress(parsing: candidate) == nil ? nil : candidate
    }

    /// Parses an address with the options `routes` and `proxy`; the other options of a Unix-domain socket are part of
    /// its address. Returns nil if it is not an address.
    private static func listener(
        _ text: String
    ) throws(CommandError) -> (ListenerConfiguration, routes: Set<AccessClass>?)? {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var address = String(parts.first ?? "")
        var routes: Set<AccessClass>?
        var proxyHeader: ProxyHeader.Version?
        let options = parts.count == 2 ? parts[1].split(separator: "&", omittingEmptySubsequences: false) : []
        for option in options {
            let pair = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            switch (pair.first ?? "", pair.dropFirst().first) {
            case ("routes", let value):
                var classes: Set<AccessClass> = []
                for word in (value ?? "").split(separator: ",", omittingEmptySubsequences: false) {
                    guard let known = AccessClass(rawValue: String(word)) else {
                        throw CommandError(
                            "\"\(text)\": \"\(word)\" is not a group of routes: expected infer, read, admin or teach, with commas "
                                + "between them (listen)")
                    }
                    classes.insert(known)
                }
                routes = classes
            case ("proxy", let value):
                guard let version = ProxyHeader.Version(rawValue: String(value ?? "")) else {
                    throw CommandError("\"\(text)\": proxy=\(value ?? ""): expected proxy=v1 or proxy=v2 (listen)")
                }
                proxyHeader = version
            default: address += (address.contains("?") ? "&" : "?") + option
            }
        }
        guard let parsed = ListenerAddress(parsing: address) else { return nil }
        return (ListenerConfiguration(parsed, proxyHeader: proxyHeader), routes)
    }
}
