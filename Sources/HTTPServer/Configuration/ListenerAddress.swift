/// An address that the server listens on.
public enum ListenerAddress: Sendable, Hashable {
    /// A TCP address. `host` is a name or a numeric address without brackets; an empty `host` means every address of
    /// the machine. Port 0 takes a free port.
    case tcp(host: String, port: UInt16)
    /// A Unix-domain socket. `mode` is the mode of its file (e.g. 0o660). `owner` is `user`, `user:group` or `:group`,
    /// by name or number; nil for the process's own.
    case unix(path: String, mode: UInt32, owner: String?)
    /// All sockets that systemd passes (`LISTEN_FDS`, sd_listen_fds(3)).
    case systemd
    /// The sockets that systemd passes under this `FileDescriptorName=`.
    case systemdNamed(String)

    /// The mode of a Unix-domain socket without a `mode`: owner and group may connect.
    public static let defaultMode: UInt32 = 0o660

    /// Parses `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`, `:8080` (every address), `unix:/run/x.sock`,
    /// `unix:/run/x.sock?mode=0660&owner=www-data:www-data`, `systemd` and `systemd:NAME`. Returns nil for other text.
    public init?(parsing text: String) {
        if text == "systemd" {
            self = .systemd
        } else if let name = text.dropping(prefix: "systemd:") {
            guard !name.isEmpty else { return nil }
            self = .systemdNamed(String(name))
        } else if let rest = text.dropping(prefix: "unix:") {
            self.init(unix: rest)
        } else {
            self.init(tcp: text)
        }
    }

    private init?(tcp text: String) {
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return nil }
        let digits = text[text.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }), let port = UInt16(digits) else {
            return nil
        }
        var host = text[..<colon]
        if host.utf8.first == UInt8(ascii: "[") {
            guard host.utf8.last == UInt8(ascii: "]"), host.utf8.count > 2 else { return nil }
            host = host.dropFirst().dropLast()
        } else if host.utf8.contains(UInt8(ascii: ":")) {
            return nil  // an IPv6 address must be in brackets: `::1:8080` could be either
        }
        guard host.utf8.allSatisfy({ $0 > 32 && $0 < 127 && $0 != UInt8(ascii: "/") }) else { return nil }
        self = .tcp(host: host == "*" ? "" : String(host), port: port)
    }

    private init?(unix text: Substring) {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let path = parts.first, !path.isEmpty else { return nil }
        var mode = Self.defaultMode
        var owner: String?
        if parts.count == 2 {
            for item in parts[1].split(separator: "&") {
                if let digits = String(item).dropping(prefix: "mode=") {
                    guard let value = UInt32(digits, radix: 8), value <= 0o777 else { return nil }
                    mode = value
                } else if let name = String(item).dropping(prefix: "owner="), !name.isEmpty {
                    owner = String(name)
                } else {
                    return nil
                }
            }
        }
        self = .unix(path: String(path), mode: mode, owner: owner)
    }
}

extension ListenerAddress: CustomStringConvertible {
    /// The text that `init(parsing:)` reads, without the mode and owner of a Unix-domain socket.
    public var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path, _, _): "unix:\(path)"
        case .systemd: "systemd"
        case .systemdNamed(let name): "systemd:\(name)"
        }
    }
}

extension String {
    /// The rest of the string after `prefix`, or nil if the string does not begin with it.
    func dropping(prefix: String) -> Substring? {
        hasPrefix(prefix) ? dropFirst(prefix.count) : nil
    }
}
