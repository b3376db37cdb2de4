/// The path of a file in a repository. The hub may write anything: only paths of this form become files.
package enum HubPath {
    private static let longest = 1000, longestName = 255

    /// The reason a path is refused, as text after it; nil for a good one.
    package static func problem(_ path: String) -> String? {
        if path.isEmpty { return "is empty" }
        if path.utf8.count > longest { return "has more than \(longest) bytes" }
        if path.hasPrefix("/") { return "is absolute" }
        if path.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) }) {
            return "has a control character"
        }
        if path.contains("\\") { return "has a backslash" }
        for name in path.split(separator: "/", omittingEmptySubsequences: false) {
            if name.isEmpty { return "has an empty name" }
            if name == "." || name == ".." { return "has the name \"\(name)\", which leads elsewhere" }
            if name.utf8.count > longestName { return "has a name of more than \(longestName) bytes" }
        }
        return nil
    }

    /// The folder of a path, without a slash at the end; empty for a file at the top.
    package static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    }

    /// The last name of a path.
    package static func name(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    }

    /// A path in a folder; the folder at the top is empty.
    package static func joined(_ folder: String, _ name: String) -> String {
        folder.isEmpty ? name : folder + "/" + name
    }

    /// The path relative to a folder; nil if it is not in it.
    package static func relative(_ path: String, to folder: String) -> String? {
        if folder.isEmpty { return path }
        return path.hasPrefix(folder + "/") ? String(path.dropFirst(folder.count + 1)) : nil
    }

    /// True if any name on the path begins with a dot.
    package static func isHidden(_ path: String) -> Bool { path.split(separator: "/").contains { $0.hasPrefix(".") } }
}
