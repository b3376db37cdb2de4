internal import Glibc
internal import SystemSupport

/// The reason the system refuses access to a file or folder.
package struct FileFailure: Error, Sendable, Hashable {
    /// An errno(3).
    package let code: Int32
    /// The kind of a special file, if the path is not a regular file.
    private let special: SpecialFile?

    /// The failure for an errno(3).
    package init(code: Int32, special: SpecialFile? = nil) {
        self.code = code
        self.special = special
    }

    /// True if the path does not exist; links that have no target or form a cycle count as missing.
    package var isAbsence: Bool { code == ENOENT || code == ENOTDIR || code == ELOOP }

    /// True if the disk or this user's quota on it is full.
    package var isFullDisk: Bool { code == ENOSPC || code == EDQUOT }

    /// The system's message, and the remedy: the text after "cannot be read: ".
    package var reason: String {
        if let special { return special.reason }
        let text = SystemError.words(code)
        return switch code {
        case EACCES, EPERM:
            "\(text) (this user, uid \(geteuid()), needs r and x on it, and x on every folder above it)"
        case EMFILE: "\(text) (the process has reached its limit of open files: raise LimitNOFILE, or ulimit -n)"
        case ENFILE: "\(text) (the system has reached its limit of open files: see fs.file-max)"
        case EIO, ESTALE, ENOTCONN, ETIMEDOUT: "\(text) (check the disk and the mount)"
        default: text
        }
    }
}
