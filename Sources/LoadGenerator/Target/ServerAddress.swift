internal import CSystem
internal import Glibc
internal import SystemSupport

/// The resolved address of a target, so that name resolution is not measured.
package struct ServerAddress: Sendable {
    private let address: csys_address

    /// Resolves the target and verifies that a server accepts connections. Blocks for up to a few seconds.
    package init(of target: LoadTarget) throws(LoadError) {
        var address = csys_address()
        let result =
            switch target.place {
            case .tcp(let host, let port): csys_find_server(host, port, 5000, &address)
            case .unix(let path): csys_find_unix_server(path, &address)
            }
        guard result == 0 else {
            let reason = -result == ENOENT ? "no such host or socket" : SystemError.words(-result)
            throw LoadError("cannot connect to \(target.description): \(reason)")
        }
        self.address = address
    }

    /// True if the server is on this machine, and shares its processors with the generator.
    package var isLocal: Bool {
        var address = address
        var text = [CChar](repeating: 0, count: 128)
        let count = csys_address_format(&address, &text, Int32(text.count))
        let name = String(decoding: text.prefix(Int(max(0, count))).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return name.hasPrefix("127.") || name.hasPrefix("[::1]") || name.hasPrefix("unix")
    }

    /// Starts to connect a socket; returns the descriptor or the negated errno.
    func connect() -> Int32 {
        var address = address
        return csys_connect(&address)
    }
}
