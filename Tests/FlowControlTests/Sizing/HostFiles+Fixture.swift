import FlowControl

extension HostFiles {
    /// A host with these files: `== /path` begins a file; its contents are the lines up to the next one.
    static func fixture(_ texts: String, openFiles: Int? = 1_048_576) -> HostFiles {
        var files: [String: String] = [:]
        var path = ""
        for line in texts.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("== ") {
                path = String(line.dropFirst(3))
                files[path] = ""
            } else {
                files[path, default: ""] += line + "\n"
            }
        }
        return HostFiles(text: { [files] in files[$0] }, openFiles: { openFiles })
    }

    /// The host with files added or replaced.
    func with(_ texts: String) -> HostFiles {
        let more = HostFiles.fixture(texts)
        return HostFiles(text: { more.text($0) ?? text($0) }, openFiles: openFiles)
    }

    /// Eight CPUs, 16 GB, control groups of version 2, in a service without limits.
    static let server = fixture(
        """
        == /proc/self/status
        Name:	ocelli
        Cpus_allowed:	ff
        Cpus_allowed_list:	0-7
        == /proc/meminfo
        MemTotal:       16384000 kB
        MemFree:         1384000 kB
        == /proc/self/cgroup
        0::/system.slice/ocelli.service
        == /proc/self/mountinfo
        22 28 0:20 / /proc rw,nosuid - proc proc rw
        25 22 0:23 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate
        == /sys/fs/cgroup/system.slice/ocelli.service/cpu.max
        max 100000
        == /sys/fs/cgroup/system.slice/ocelli.service/memory.max
        max
        == /sys/fs/cgroup/system.slice/cpu.max
        max 100000
        """)
}
