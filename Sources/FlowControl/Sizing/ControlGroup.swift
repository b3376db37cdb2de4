/// The control group of this process: the location of its files, and of those of its ancestors.
///
/// Any ancestor may have a limit (a slice above a service, a pod above a container), and the lowest one applies.
struct ControlGroup {
    /// The group and its ancestors, the innermost first: `/system.slice/ocelli.service`, `/system.slice`, `/`.
    private let levels: [String]
    private let mountPoint: String
    private let files: HostFiles

    fileprivate init(path: String, mount: ControlGroups.Mount?, default point: String, _ files: HostFiles) {
        self.files = files
        mountPoint = mount?.point ?? point
        // A container that sees the host's group names has only its own part of the tree mounted: the root of the mount
        // is then a prefix of the path. If it is not a prefix, only the root of the mount is visible.
        var path = path
        if let root = mount?.root, root != "/" {
            path = path == root || path.hasPrefix(root + "/") ? String(path.dropFirst(root.count)) : "/"
        }
        var names = path.split(separator: "/")
        // Outside the cgroup namespace of the process, and not visible from here.
        if names.contains("..") { names = [] }
        var levels: [String] = []
        while !names.isEmpty {
            levels.append("/" + names.joined(separator: "/"))
            names.removeLast()
        }
        self.levels = levels + ["/"]
    }

    /// The contents of the file with this name in each group that has it, the innermost first.
    func texts(of file: String) -> [(group: String, text: String)] {
        levels.compactMap { group in
            let folder = group == "/" ? mountPoint : mountPoint + group
            return files.text(folder + "/" + file).map { (group, $0.trimmedASCII) }
        }
    }

}

/// The control groups of this process, one for each hierarchy. Reads each file in `/proc` once.
struct ControlGroups {
    private let files: HostFiles
    private let memberships: [Membership]
    private let mounts: [Mount]
    /// The group in the single hierarchy of version 2; nil on a host without it.
    let unified: ControlGroup?

    init(_ files: HostFiles) {
        self.files = files
        memberships = Self.memberships(files)
        mounts = Self.mounts(files)
        let line = memberships.first { $0.hierarchy == "0" && $0.controllers.isEmpty }
        let mount = mounts.first { $0.type == "cgroup2" }
        unified = line.map { ControlGroup(path: $0.path, mount: mount, default: "/sys/fs/cgroup", files) }
    }

    /// The group in version 1's hierarchy for a controller; nil if the controller has no hierarchy.
    func legacy(_ controller: String) -> ControlGroup? {
        let line = memberships.first { $0.controllers.split(separator: ",").contains(Substring(controller)) }
        guard let line else { return nil }
        let mount = mounts.first {
            $0.type == "cgroup" && $0.options.split(separator: ",").contains(Substring(controller))
        }
        return ControlGroup(path: line.path, mount: mount, default: "/sys/fs/cgroup/\(controller)", files)
    }

    // MARK: /proc

    private struct Membership {
        let hierarchy: Substring
        let controllers: Substring
        let path: String
    }

    /// Parses `/proc/self/cgroup`: lines `hierarchy:controllers:path`; the path may contain colons.
    private static func memberships(_ files: HostFiles) -> [Membership] {
        (files.text("/proc/self/cgroup") ?? "").split(separator: "\n").compactMap { line in
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { return nil }
            return Membership(hierarchy: parts[0], controllers: parts[1], path: String(parts[2]))
        }
    }

    fileprivate struct Mount {
        let root: String
        let point: String
        let type: Substring
        let options: Substring
    }

    /// Parses `/proc/self/mountinfo` (proc_pid_mountinfo(5)):
    /// `id parent dev root point options fields... - type source super`.
    ///
    /// The mount at the standard location comes first: a second mount elsewhere belongs to something else (the host's
    /// `/sys` in a monitoring container, or the root of a container below a folder).
    private static func mounts(_ files: HostFiles) -> [Mount] {
        let all: [Mount] = (files.text("/proc/self/mountinfo") ?? "").split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard let dash = words.firstIndex(of: "-"), dash >= 6, words.count >= dash + 4 else { return nil }
            return Mount(
                root: unescaped(words[3]), point: unescaped(words[4]), type: words[dash + 1], options: words[dash + 3])
        }
        let usual = all.filter { $0.point.hasPrefix("/sys/fs/cgroup") }
        return usual + all.filter { !$0.point.hasPrefix("/sys/fs/cgroup") }
    }

    /// Decodes octal escapes in paths: blanks are written as `\040`, and three other characters likewise.
    private static func unescaped(_ text: Substring) -> String {
        guard text.contains("\\") else { return String(text) }
        var bytes: [UInt8] = []
        var rest = Substring(text).utf8
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            if byte == UInt8(ascii: "\\"), digits.count == 3, let code = UInt8(String(Substring(digits)), radix: 8) {
                bytes.append(code)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
