package import Glibc

/// An entry of a folder that is neither a regular file nor a link.
package enum SpecialFile: String, Sendable, Hashable {
    case folder = "a folder"
    case pipe = "a FIFO"
    case socket = "a socket"
    case characterDevice = "a character device"
    case blockDevice = "a block device"
    case other = "something else"

    /// Nil for a regular file.
    package init?(_ status: stat) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: return nil
        case S_IFDIR: self = .folder
        case S_IFIFO: self = .pipe
        case S_IFSOCK: self = .socket
        case S_IFCHR: self = .characterDevice
        case S_IFBLK: self = .blockDevice
        default: self = .other
        }
    }

    /// The problem, as text after the file's name and "cannot be read: ".
    package var reason: String { "expected a regular file, found \(rawValue)" }
}
