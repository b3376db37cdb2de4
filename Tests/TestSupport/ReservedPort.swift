internal import CSystem
internal import Glibc

/// A TCP port of 127.0.0.1 for a program that needs a given port, such as a proxy.
///
/// A socket that is bound and does not listen holds it: the kernel gives the port to no other program that binds any
/// port, and a server with SO_REUSEADDR, which servers set, can listen on it meanwhile. Without that, another program
/// may get the port before it is used.
public final class ReservedPort: Sendable {
    /// The port's number.
    public let number: Int
    private let descriptor: Int32

    /// No port is free.
    public struct Failure: Error {
        /// The error number.
        public let errno: Int32
    }

    /// Holds a free port until the object is released.
    public init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, size) == 0 && getsockname(descriptor, pointer, &size) == 0
            }
        }
        guard isBound else {
            let number = errno
            close(descriptor)
            throw Failure(errno: number)
        }
        self.descriptor = descriptor
        number = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(descriptor) }
}
