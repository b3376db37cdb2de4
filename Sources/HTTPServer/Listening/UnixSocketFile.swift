import CSystem
import Glibc
import SystemSupport

/// The file of a Unix-domain socket that this server made. It is removed at shutdown if it is still the same file.
struct UnixSocketFile: Sendable {
    let path: String
    private let device: UInt64
    private let inode: UInt64

    /// Listens at `path`. A socket file that no process listens on is stale and is replaced. A socket file that a
    /// process listens on, or a file of another kind, is an error.
    static func listen(
        path: String, mode: UInt32, owner: String?, backlog: Int32
    ) throws(HTTPServerError) -> (descriptor: Int32, file: UnixSocketFile) {
        try removeStale(path)
        let descriptor = csys_listen_unix(path, mode, backlog)
        guard descriptor >= 0 else { throw .listen(address: "unix:\(path)", errno: -descriptor) }
        do throws(HTTPServerError) {
            if let owner {
                let changed = csys_chown(path, owner)
                guard changed >= 0 else {
                    throw .listen(address: "unix:\(path) (owner \(owner))", errno: -changed)
                }
            }
            var (device, inode, isSocket) = (UInt64(0), UInt64(0), false)
            let found = csys_file_identity(path, &device, &inode, &isSocket)
            guard found >= 0 else { throw .listen(address: "unix:\(path)", errno: -found) }
            return (descriptor, UnixSocketFile(path: path, device: device, inode: inode))
        } catch {
            csys_close(descriptor)
            unlink(path)
            throw error
        }
    }

    private static func removeStale(_ path: String) throws(HTTPServerError) {
        var (device, inode, isSocket) = (UInt64(0), UInt64(0), false)
        let found = csys_file_identity(path, &device, &inode, &isSocket)
        if found == -ENOENT { return }
        guard found >= 0 else { throw .listen(address: "unix:\(path)", errno: -found) }
        guard isSocket else { throw .pathInUse(path, reason: "there is a file that is not a socket") }
        let answer = csys_unix_probe(path)
        guard answer != 0 else { throw .pathInUse(path, reason: "another process listens on it") }
        guard answer == -ECONNREFUSED else {
            throw .pathInUse(path, reason: "cannot determine whether it is in use: \(SystemError.text(-answer))")
        }
        unlink(path)
    }

    /// Removes the file, unless another process has replaced it with its own.
    func remove() {
        var (device, inode, isSocket) = (UInt64(0), UInt64(0), false)
        guard csys_file_identity(path, &device, &inode, &isSocket) >= 0,
            isSocket, device == self.device, inode == self.inode
        else { return }
        unlink(path)
    }
}
