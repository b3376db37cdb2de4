/// The resources available to this process, often less than those of the host: an engine that starts a thread for each
/// CPU of the host collapses under a quota of two.
public struct HostResources: Sendable, Hashable {
    /// CPU time per time: 1.5 means three of every four milliseconds on two CPUs. More than 0.
    public let cpus: Derived<Double>
    /// The number of threads that can run continuously within `cpus`: at least 1.
    public let wholeCPUs: Derived<Int>
    /// The amount of memory, in bytes, beyond which the kernel reclaims or kills. More than 0.
    public let memoryBytes: Derived<UInt64>
    /// The maximum number of open file descriptors.
    public let openFiles: Derived<Int>
    /// The maximum number of threads: the lowest limit of the control group, the user and the host.
    public let threads: Derived<Int>
    /// The NUMA nodes of the processors.
    public let topology: ProcessorTopology

    /// Reads the files of the host. Missing and invalid files are ignored.
    public init(_ files: HostFiles = .live) {
        let groups = ControlGroups(files)
        let cpus = Self.cpus(files, groups)
        self.cpus = cpus
        wholeCPUs = Derived(
            Int(max(1, cpus.value.rounded(.down))),
            because: cpus.value < 1
                ? "\(describe(cpus.value)) CPUs rounded up: there is at least one thread"
                : cpus.value.rounded(.down) == cpus.value
                    ? cpus.reason
                    : "\(describe(cpus.value)) CPUs rounded down: one more thread would be throttled in every period")
        memoryBytes = Self.memory(files, groups)
        threads = Self.threads(files, groups)
        topology = ProcessorTopology(files, groups)
        openFiles =
            files.openFiles().map { Derived($0, because: "the limit of open files (RLIMIT_NOFILE) is \($0)") }
            ?? Derived(1 << 20, because: "there is no limit of open files, or it cannot be read")
    }

    // MARK: CPU

    private static func cpus(_ files: HostFiles, _ groups: ControlGroups) -> Derived<Double> {
        (affinity(files) + cpuSets(groups) + quotas(groups)).min { $0.value < $1.value }
            ?? Derived(1, because: "the number of CPUs is unknown: assuming one")
    }

    private static func affinity(_ files: HostFiles) -> [Derived<Double>] {
        guard let (list, allowed, usable) = scheduled(files) else { return [] }
        let (count, all) = (CPUList.count(usable), CPUList.count(allowed))
        guard count < all else {
            return [Derived(Double(all), because: "the scheduler may use \(plural(all, "CPU")) (\(list))")]
        }
        let text = CPUList.text(usable)
        return [
            Derived(
                Double(count),
                because: "the scheduler may use \(plural(count, "CPU")) (\(text)); the others of \(list) are offline")
        ]
    }

    /// The CPUs of `sched_getaffinity`, from the text `Cpus_allowed_list:  0-1`, without those that are offline. The
    /// kernel lists offline CPUs, too: a virtual machine with 4 CPUs that may grow to 128 has `0-127`.
    private static func scheduled(
        _ files: HostFiles
    ) -> (list: String, allowed: [ClosedRange<Int>], usable: [ClosedRange<Int>])? {
        guard let list = value(of: "Cpus_allowed_list", in: files.text("/proc/self/status")),
            let allowed = CPUList.ranges(list)
        else { return nil }
        let online = files.text("/sys/devices/system/cpu/online").flatMap { CPUList.ranges($0) } ?? []
        let usable = CPUList.common(allowed, online)
        // All of them, if the online CPUs are unknown or contradictory.
        return (list, allowed, usable.isEmpty ? allowed : usable)
    }

    private static func cpuSets(_ groups: ControlGroups) -> [Derived<Double>] {
        effectiveSets(groups).map { group, text, ranges in
            let count = CPUList.count(ranges)
            return Derived(Double(count), because: "the cpuset of \(group) has \(plural(count, "CPU")) (\(text))")
        }
    }

    /// The cpusets of this process, one for each hierarchy with cpusets.
    private static func effectiveSets(
        _ groups: ControlGroups
    ) -> [(group: String, text: String, ranges: [ClosedRange<Int>])] {
        // The effective set of a group is a subset of its ancestors': the innermost one suffices.
        let unified = groups.unified?.texts(of: "cpuset.cpus.effective") ?? []
        let legacy = groups.legacy("cpuset")?.texts(of: "cpuset.effective_cpus") ?? []
        return [unified, legacy].compactMap { texts in
            for (group, text) in texts {
                guard let ranges = CPUList.ranges(text) else { continue }
                return (group, text, ranges)
            }
            return nil
        }
    }

    /// The CPUs that are online and allowed by both the scheduler and the cpuset; nil if they are not known.
    static func usableProcessors(_ files: HostFiles, _ groups: ControlGroups) -> [ClosedRange<Int>]? {
        guard let scheduled = scheduled(files)?.usable else { return nil }
        return effectiveSets(groups).reduce(scheduled) { usable, set in
            let common = CPUList.common(usable, set.ranges)
            return common.isEmpty ? usable : common
        }
    }

    private static func quotas(_ groups: ControlGroups) -> [Derived<Double>] {
        let unified = (groups.unified?.texts(of: "cpu.max") ?? []).compactMap { group, text in
            let words = text.split(separator: " ")
            // The period may be missing in a file written by hand; the kernel's default is 100 ms.
            let period = words.count > 1 ? UInt64(words[1]) : 100_000
            return quota(words.first.flatMap { UInt64($0) }, period, "cpu.max of \(group)")
        }
        guard unified.isEmpty, let group = groups.legacy("cpu") else { return unified }
        let periods = Dictionary(group.texts(of: "cpu.cfs_period_us"), uniquingKeysWith: { first, _ in first })
        return group.texts(of: "cpu.cfs_quota_us").compactMap { name, text in
            quota(UInt64(text), periods[name].flatMap { UInt64($0) }, "cpu.cfs_quota_us of \(name)")
        }
    }

    /// "max" is not a number; version 1 writes -1 for no limit.
    private static func quota(_ quota: UInt64?, _ period: UInt64?, _ name: String) -> Derived<Double>? {
        guard let quota, let period, quota > 0, period > 0 else { return nil }
        let cpus = Double(quota) / Double(period)
        guard cpus < 1_000_000 else { return nil }
        let text = "\(name) allows \(quota) of every \(period) µs, which is \(describe(cpus)) CPUs"
        return Derived(max(cpus, 0.01), because: text)
    }

    // MARK: Memory

    private static func memory(_ files: HostFiles, _ groups: ControlGroups) -> Derived<UInt64> {
        var candidates: [Derived<UInt64>] = []
        if let total = totalMemory(files) {
            candidates.append(Derived(total, because: "the host has \(describe(bytes: total))"))
        }
        let legacy = groups.legacy("memory")
        // Above memory.high the kernel throttles the process, so it is a limit, too.
        let limits = [
            (groups.unified, "memory.max"), (groups.unified, "memory.high"), (legacy, "memory.limit_in_bytes"),
        ]
        for (group, file) in limits {
            for (name, text) in group?.texts(of: file) ?? [] {
                guard let bytes = UInt64(text), bytes > 0 else { continue }
                candidates.append(Derived(bytes, because: "\(file) of \(name) is \(describe(bytes: bytes))"))
            }
        }
        return candidates.min { $0.value < $1.value }
            ?? Derived(1 << 30, because: "the amount of memory is unknown: assuming 1 GiB")
    }

    /// Reads `MemTotal:       24684084 kB`, in bytes.
    private static func totalMemory(_ files: HostFiles) -> UInt64? {
        let text = value(of: "MemTotal", in: files.text("/proc/meminfo"))
        guard let kilobytes = text?.split(separator: " ").first.flatMap({ UInt64($0) }) else { return nil }
        let (bytes, overflow) = kilobytes.multipliedReportingOverflow(by: 1024)
        return overflow || bytes == 0 ? nil : bytes
    }

    /// The value of the line `name:` in a text.
    private static func value(of name: String, in text: String?) -> String? {
        let line = text?.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        return line.map { $0.dropFirst(name.count + 1).trimmedASCII }
    }
}

/// "1.5", "2": at most two decimals.
private func describe(_ number: Double) -> String {
    let hundredths = (number * 100).rounded()
    guard let whole = Int(exactly: hundredths) else { return "\(number)" }
    let (units, rest) = whole.quotientAndRemainder(dividingBy: 100)
    if rest == 0 { return "\(units)" }
    return rest % 10 == 0 ? "\(units).\(rest / 10)" : "\(units).\(rest < 10 ? "0" : "")\(rest)"
}

/// "1 core", "2 cores".
func plural(_ count: Int, _ noun: String) -> String {
    count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
}

/// "512 MiB", "23.5 GiB".
func describe(bytes: UInt64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
    var value = Double(bytes)
    var unit = 0
    while value >= 1024, unit < units.count - 1 {
        value /= 1024
        unit += 1
    }
    let tenths = (value * 10).rounded()
    return tenths.remainder(dividingBy: 10) == 0
        ? "\(Int(tenths) / 10) \(units[unit])" : "\(Int(tenths) / 10).\(Int(tenths) % 10) \(units[unit])"
}
