import Glibc
import SystemSupport

/// The reason why a server could not start, or cannot continue.
public enum HTTPServerError: Error, Sendable, Hashable {
    /// An address could not be listened on.
    case listen(address: String, errno: Int32)
    /// The path of a Unix-domain socket is in use, by a file that is not a socket or by a socket that a process listens
    /// on.
    case pathInUse(String, reason: String)
    /// systemd passed no listening socket, or none of this name.
    case noPassedSocket(String)
    /// There is no address to listen on.
    case noListener
    /// A listening socket failed while serving: the process should exit and be restarted.
    case listenerFailed(address: String, errno: Int32)
    /// A system call that the server needs has failed.
    case system(operation: String, errno: Int32)
    /// The server was started before.
    case alreadyStarted
    /// The server was shut down; this is not a failure.
    case stopped
}

extension HTTPServerError: CustomStringConvertible {
    /// A message for the log.
    public var description: String {
        switch self {
        case .listen(let address, ENOENT) where !address.hasPrefix("unix:"):
            "cannot listen on \(address): the name cannot be resolved"
        case .listen(let address, let errno): "cannot listen on \(address): \(SystemError.text(errno))"
        case .pathInUse(let path, let reason): "cannot listen on unix:\(path): \(reason)"
        case .noPassedSocket(let name): "systemd passed no listening socket for '\(name)' (LISTEN_FDS, LISTEN_PID)"
        case .noListener: "no address to listen on"
        case .listenerFailed(let address, let errno): "the listener on \(address) failed: \(SystemError.text(errno))"
        case .system(let operation, let errno): "\(operation) failed: \(SystemError.text(errno))"
        case .alreadyStarted: "the server was already started"
        case .stopped: "the server was shut down"
        }
    }
}
