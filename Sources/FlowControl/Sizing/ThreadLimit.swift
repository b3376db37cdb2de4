/// The number of threads (tasks, as the kernel counts them) that this process may have, and the number that count
/// against it.
extension HostResources {
    /// The lowest of the control groups' `pids.max` (systemd's `TasksMax`), the user's limit of processes and the
    /// host's own limits.
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

    /// `Max processes             95863                95863                processes`; root is not bound by it.
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

    /// The message when a thread or a process could not be started (EAGAIN): the limit, and what to do.
    public static func threadsUsedUp(_ files: HostFiles = .live) -> String {
        let limit = threads(files, ControlGroups(files))
        return
            "no more threads can be started (\(limit.reason)): a loaded model takes one for each stream and one more; raise the "
            + "limit (TasksMax in the unit), set streams to 1, load models on demand (load, idle_unload), or serve "
            + "fewer"
    }
}
