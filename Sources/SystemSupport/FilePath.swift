internal import CSystem
internal import Glibc

/// Paths of files as text. Paths from outside are made absolute once, where they enter, so that each has the folder
/// that it is in.
package enum FilePath {
    /// The path from the root: a relative one begins at the working folder.
    ///
    /// `.`, double slashes and slashes at the end are left out. Links and `..` stay, except for `..` at the end: a
    /// folder is known by its name. An empty path stays empty. Looks at the disk for `..` at the end only.
    package static func absolute(_ path: String) -> String {
        guard !path.isEmpty else { return path }
        var parts = path.split(separator: "/").filter { $0 != "." }
        if !path.hasPrefix("/"), let pointer = getcwd(nil, 0) {
            defer { free(pointer) }
            parts = String(cString: pointer).split(separator: "/") + parts
        }
        let whole = "/" + parts.joined(separator: "/")
        return parts.last == ".." ? resolved(whole) ?? whole : whole
    }

    /// The absolute path without links; nil if the file does not exist. Blocks.
    package static func resolved(_ path: String) -> String? {
        guard let pointer = realpath(path, nil) else { return nil }
        defer { free(pointer) }
        return String(cString: pointer)
    }

    /// The path of the file that contains a function of this process, with its links resolved; nil if it is not known.
    package static func library(containing function: UnsafeRawPointer) -> String? {
        (csys_file_with(function) as UnsafePointer<CChar>?).flatMap { resolved(String(cString: $0)) }
    }

    /// The part of a path before the last name, with the slash that ends it; empty for a bare name.
    package static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    }

    /// The folder that a path is in: `.` for a bare name.
    package static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The last name of a path, without slashes at the end; nil if the path has none.
    package static func name(of path: String) -> String? { path.split(separator: "/").last.map(String.init) }

    /// The path without slashes at the end; that of the root stays.
    package static func withoutSlashesAtEnd(_ path: String) -> String {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }

    /// The part that the paths of all files in a folder begin with: its path with a slash at the end.
    package static func start(inside folder: String) -> String { folder.hasSuffix("/") ? folder : folder + "/" }
}
