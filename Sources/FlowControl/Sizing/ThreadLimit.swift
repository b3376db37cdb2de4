/// The maximum number of threads (tasks in the kernel's terms) of this process, and the number in use.
extension HostResources {
    /// The lowest of the control groups' `pids.max` (systemd's `TasksMax`), the user's limit on processes and the
    /// host's limits.
    static func threads(_ files: HostFiles, _ groups: ControlGroups) -> Derived<Int> {
        var candidates: [Derived<Int>] = []
        for path in ["kernel/threads-max", "kernel/pid_max"] {
            guard let text = files.text("/proc/sys/" + path), let count = Int(text.trimmedASCII), count > 0 else {
                continue
            }
            candidates.append(Derived(count, because: "\(path.replacing("/", with: ".")) of the host is \(count)"))
        }
        for group in [groups.unified, groups.legacy("pids")] {
            for (name, text) in group?.texts(of: "pids.max") ?? [] {
                guard let count = Int(text), count > 0 else { continue }
                candidates.append(Derived(count, because: "pids.max of \(name) is \(count)"))
            }
        }
        if let count = processes(files) {
            candidates.append(Derived(count, because: "the user's limit of processes (RLIMIT_NPROC) is \(count)"))
        }
        return candidates.min { $0.value < $1.value }
            ?? Derived(32_768, because: "the limit of threads is unknown: assuming 32768")
    }

    /// Reads `Max processes             95863                95863                processes`; the limit does not apply
    /// to root.
    private static func processes(_ files: HostFiles) -> Int? {
        let status = files.text("/proc/self/status") ?? ""
        let user = status.split(separator: "\n").first { $0.hasPrefix("Uid:") }?.split(whereSeparator: \.isWhitespace)
        guard let user, user.count > 2, user[2] != "0" else { return nil }
        let line = (files.text("/proc/self/limits") ?? "").split(separator: "\n").first {
            $0.hasPrefix("Max processes")
        }
        let words = line?.split(separator: " ") ?? []
        return words.count > 2 ? Int(words[2]).flatMap { $0 > 0 ? $0 : nil } : nil
    }

    /// The message for a failure to start a thread or a process (EAGAIN): the limit, and a remedy.
    public static func threadsUsedUp(_ files: HostFiles = .live) -> String {
        let limit = threads(files, ControlGroups(files))
        return
            "no more threads can be started (\(limit.reason)): a loaded model takes one for each stream and one more; raise the "
            + "limit (TasksMax in the unit), set streams to 1, load models on demand (load, idle_unload), or serve "
            + "fewer"
    }
}
