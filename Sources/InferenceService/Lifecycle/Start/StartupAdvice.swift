internal import Glibc
internal import HTTPServer
internal import SystemSupport

/// Advice for a server that could not start.
enum StartupAdvice {
    /// The error, followed by advice if there is any.
    static func error(_ error: HTTPServerError) -> CommandError {
        let advice = advice(error)
        return CommandError(advice.isEmpty ? "\(error)" : "\(error): \(advice)")
    }

    private static func advice(_ error: HTTPServerError) -> String {
        switch error {
        case .listen(let address, let number):
            address.hasPrefix("unix:") ? unix(number) : tcp(number, address)
        case .pathInUse(_, let reason):
            reason.contains("listens")
                ? "stop it, or listen on another path (listen)" : "remove it, or listen on another path (listen)"
        case .noPassedSocket:
            "start Ocelli by ocelli.socket, or set listen to an address"
        default: ""
        }
    }

    private static func tcp(_ number: Int32, _ address: String) -> String {
        let port = address.split(separator: ":").last.map(String.init) ?? ""
        return switch number {
        case EADDRINUSE:
            "`ss -ltnp 'sport = :\(port)'` shows the process; stop it, or set listen to another address"
        case EACCES:
            "ports below 1024 need privileges: use a higher port (listen), let ocelli.socket pass the port, or set "
                + "AmbientCapabilities=CAP_NET_BIND_SERVICE"
        case EADDRNOTAVAIL:
            "no interface of this machine has that address; `ip address` lists the addresses of this machine"
        case ENOENT: "give its address instead of its name (listen)"
        default: ""
        }
    }

    private static func unix(_ number: Int32) -> String {
        switch number {
        case ENOENT: "the folder, or the owner given after the path, does not exist: create it first"
        case EACCES, EPERM:
            "this user cannot create a file there, or cannot change its owner; under systemd use /run/ocelli"
        case ENAMETOOLONG: "the path of a Unix-domain socket has at most 107 bytes"
        case EROFS: "the folder is read-only; under systemd use /run/ocelli"
        default: ""
        }
    }
}
