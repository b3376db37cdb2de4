internal import Glibc
internal import SystemSupport

/// The reason why the system does not let a file or folder be looked at.
package struct FileFailure: Error, Sendable, Hashable {
    /// An errno(3).
    package let code: Int32
    /// The kind of the file that lies there instead of a regular file, if that is the failure.
    private let special: SpecialFile?

    /// The failure of an errno(3).
    package init(code: Int32, special: SpecialFile? = nil) {
        self.code = code
        self.special = special
    }

    /// True if nothing exists there; links that lead nowhere, or round in a circle, count as nothing.
    package var isAbsence: Bool { code == ENOENT || code == ENOTDIR || code == ELOOP }

    /// True if the disk, or the part of it that this user may fill, is full.
    var isFullDisk: Bool { code == ENOSPC || code == EDQUOT }

    /// The system's own words, and what can be done: what follows "cannot be read: ".
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
