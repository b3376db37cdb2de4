import CSystem
import Glibc

/// The sockets that systemd passes to a service (sd_listen_fds(3)).
package struct SystemdSockets: Sendable, Hashable {
    /// One passed descriptor and its `FileDescriptorName=`.
    package struct Socket: Sendable, Hashable {
        package let descriptor: Int32
        package let name: String
    }

    /// The passed sockets, in the order of their descriptors.
    package let sockets: [Socket]

    /// Reads `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES`. The result is empty if they are absent or malformed, or
    /// if `LISTEN_PID` is another process (a parent that did not clean up its environment).
    package init(environment: [String: String], processID: Int32) {
        guard let pid = environment["LISTEN_PID"].flatMap({ Int32($0) }), pid == processID,
            let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), count > 0, count <= 1024
        else {
            sockets = []
            return
        }
        let names = environment["LISTEN_FDNAMES"]?.split(separator: ":", omittingEmptySubsequences: false) ?? []
        sockets = (0..<Int(count)).map { index in
            Socket(descriptor: 3 + Int32(index), name: index < names.count ? String(names[index]) : "unknown")
        }
    }

    /// The sockets that were passed to this process.
    package static var current: SystemdSockets {
        var environment: [String: String] = [:]
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] {
            if let value = getenv(name) { environment[name] = String(cString: value) }
        }
        return SystemdSockets(environment: environment, processID: getpid())
    }
}
