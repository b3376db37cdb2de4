internal import Glibc

/// The reason why a file cannot be read, with a remedy.
package enum UnreadableFile {
    /// Checks the path again. Blocks.
    package static func reason(_ path: String) -> String {
        var status = stat()
        guard stat(path, &status) == 0 else {
            return switch errno {
            case ENOENT: "no such file"
            case EACCES: "this user cannot enter a folder on its path (uid \(getuid()))"
            case ENOTDIR: "a component of its path is not a folder"
            default: SystemError.words(errno)
            }
        }
        if status.st_mode & S_IFMT == S_IFDIR { return "it is a folder, not a file" }
        if access(path, R_OK) != 0 {
            return "this user (uid \(getuid())) may not read it: change its owner or mode, or pass it with systemd's "
                + "LoadCredential="
        }
        if status.st_mode & S_IFMT != S_IFREG { return "it is a pipe or a device, not a plain file" }
        return "reading it failed"
    }
}
