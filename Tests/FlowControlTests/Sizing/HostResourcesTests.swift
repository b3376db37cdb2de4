import FlowControl
import TestSupport
import Testing

@Suite struct HostResourcesTests {
    @Test("without limits the CPUs and the memory are those of the host")
    func withoutLimitsItIsTheHost() {
        let resources = HostResources(.server)
        #expect(resources.cpus == Derived(8, because: "the scheduler may use 8 CPUs (0-7)"))
        #expect(resources.wholeCPUs == Derived(8, because: "the scheduler may use 8 CPUs (0-7)"))
        #expect(resources.memoryBytes == Derived(16_777_216_000, because: "the host has 15.6 GiB"))
    }

    @Test("a CPU quota counts as its share of the period, and whole CPUs are rounded down")
    func aQuotaIsAShareOfItsPeriod() {
        let resources = HostResources(
            .server.with(
                """
                == /sys/fs/cgroup/system.slice/ocelli.service/cpu.max
                150000 100000
                """))
        #expect(
            resources.cpus
                == Derived(
                    1.5,
                    because: "cpu.max of /system.slice/ocelli.service allows 150000 of every 100000 µs, "
                        + "which is 1.5 CPUs"))
        #expect(
            resources.wholeCPUs
                == Derived(1, because: "1.5 CPUs rounded down: one more thread would be throttled in every period"))
    }

    @Test("the lowest limit of all control groups up to the root counts")
    func theLowestLimitOnTheWayToTheRootBinds() {
        let resources = HostResources(
            .server.with(
                """
                == /sys/fs/cgroup/system.slice/ocelli.service/cpu.max
                400000 100000
                == /sys/fs/cgroup/system.slice/cpu.max
                25000 50000
                == /sys/fs/cgroup/cpu.max
                300000 100000
                == /sys/fs/cgroup/system.slice/ocelli.service/memory.max
                2147483648
                == /sys/fs/cgroup/system.slice/memory.max
                1073741824
                """))
        #expect(resources.cpus.value == 0.5)
        #expect(resources.cpus.reason == "cpu.max of /system.slice allows 25000 of every 50000 µs, which is 0.5 CPUs")
        #expect(resources.wholeCPUs.value == 1)
        #expect(resources.memoryBytes == Derived(1 << 30, because: "memory.max of /system.slice is 1 GiB"))
    }

    @Test("the thread limit is the lowest of control group, user and host")
    func threadsAreBoundByGroupUserAndHost() {
        let host = HostFiles.server.with(
            """
            == /proc/sys/kernel/threads-max
            120000
            == /proc/sys/kernel/pid_max
            4194304
            == /proc/self/limits
            Limit                     Soft Limit           Hard Limit           Units
            Max processes             900                  95863                processes
            """)
        #expect(HostResources(host).threads == Derived(120_000, because: "kernel.threads-max of the host is 120000"))
        let user = host.with("== /proc/self/status\nUid:\t1000\t1000\t1000\t1000\nCpus_allowed_list:\t0-7")
        #expect(
            HostResources(user).threads == Derived(900, because: "the user's limit of processes (RLIMIT_NPROC) is 900"))
        let root = user.with("== /proc/self/status\nUid:\t0\t0\t0\t0")
        #expect(HostResources(root).threads.value == 120_000)
        let service = user.with(
            """
            == /sys/fs/cgroup/system.slice/ocelli.service/pids.max
            512
            == /sys/fs/cgroup/system.slice/pids.max
            max
            """)
        #expect(
            HostResources(service).threads == Derived(512, because: "pids.max of /system.slice/ocelli.service is 512"))
        #expect(HostResources.threadsUsedUp(service).contains("pids.max of /system.slice/ocelli.service is 512"))
        let legacy = host.with(
            """
            == /proc/self/cgroup
            8:pids:/docker/abc
            == /proc/self/mountinfo
            31 25 0:28 /docker/abc /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
            == /sys/fs/cgroup/pids/pids.max
            64
            """)
        #expect(HostResources(legacy).threads == Derived(64, because: "pids.max of / is 64"))
        #expect(HostResources(HostFiles.fixture("")).threads.value == 32_768)
    }

    @Test("a container that sees its own group as the root has the root's limits")
    func aContainerSeesItsOwnGroupAsTheRoot() {
        let resources = HostResources(
            .server.with(
                """
                == /proc/self/cgroup
                0::/
                == /sys/fs/cgroup/cpu.max
                200000 100000
                == /sys/fs/cgroup/memory.max
                536870912
                """))
        #expect(resources.cpus.value == 2)
        #expect(resources.memoryBytes == Derived(512 << 20, because: "memory.max of / is 512 MiB"))
    }

    @Test("a container with the host's group names has the limits of its mounted part")
    func aContainerWithTheHostsNamesHasItsPartMounted() {
        let container = HostFiles.server.with(
            """
            == /proc/self/cgroup
            0::/docker/c0ffee
            == /proc/self/mountinfo
            25 22 0:23 /docker/c0ffee /sys/fs/cgroup ro,nosuid - cgroup2 cgroup ro
            == /sys/fs/cgroup/cpu.max
            300000 100000
            """)
        #expect(HostResources(container).cpus.value == 3)
        // A group below the mounted one, and a sibling, which is not visible from here.
        let below = container.with("== /proc/self/cgroup\n0::/docker/c0ffee/worker")
        #expect(HostResources(below.with("== /sys/fs/cgroup/worker/cpu.max\n100000 100000")).cpus.value == 1)
        let beside = container.with("== /proc/self/cgroup\n0::/docker/c0ffeeeee")
        #expect(HostResources(beside).cpus.value == 3)
        #expect(HostResources(beside.with("== /sys/fs/cgroup/eee/cpu.max\n100000 100000")).cpus.value == 3)
    }

    @Test("for a group outside of the namespace the limits of the mounted root count")
    func aGroupOutsideOfTheNamespaceCannotBeSeen() {
        let resources = HostResources(
            .server.with(
                """
                == /proc/self/cgroup
                0::/../other.service
                == /sys/fs/cgroup/cpu.max
                100000 100000
                """))
        #expect(resources.cpus.value == 1)
    }

    @Test("the control groups may be mounted elsewhere under any name")
    func theHierarchyMayBeMountedElsewhereUnderAnyName() {
        let resources = HostResources(
            .server.with(
                """
                == /proc/self/cgroup
                0::/a:b
                == /proc/self/mountinfo
                25 22 0:23 / /run/c\\040groups rw - cgroup2 cgroup2 rw
                == /run/c groups/a:b/cpu.max
                100000 100000
                """))
        #expect(resources.cpus.value == 1)
    }

    @Test("a second mount of the control groups elsewhere is ignored")
    func aSecondMountElsewhereIsNotLookedAt() {
        let resources = HostResources(
            HostFiles.server.with(
                """
                == /proc/self/cgroup
                0::/docker/c0ffee
                == /proc/self/mountinfo
                24 22 0:23 / /host/sys/fs/cgroup ro - cgroup2 cgroup2 ro
                25 22 0:23 /docker/c0ffee /sys/fs/cgroup ro - cgroup2 cgroup2 ro
                == /host/sys/fs/cgroup/docker/c0ffee/cpu.max
                600000 100000
                == /sys/fs/cgroup/cpu.max
                300000 100000
                """))
        #expect(resources.cpus.value == 3)
    }

    @Test("without mountinfo the limits are read from /sys/fs/cgroup")
    func withoutMountinfoTheUsualPlaceIsTried() {
        let files = HostFiles.server.with(
            """
            == /proc/self/mountinfo
            == /sys/fs/cgroup/system.slice/ocelli.service/cpu.max
            700000 100000
            """)
        #expect(HostResources(files).cpus.value == 7)
    }

    @Test("a cpuset and a CPU affinity limit the number of CPUs")
    func aCpusetAndAnAffinityCountTheirCPUs() {
        let files = HostFiles.server.with(
            """
            == /sys/fs/cgroup/system.slice/cpuset.cpus.effective
            0-1,4,6
            """)
        #expect(HostResources(files).cpus == Derived(4, because: "the cpuset of /system.slice has 4 CPUs (0-1,4,6)"))
        let pinned = files.with("== /proc/self/status\nCpus_allowed_list:\t4")
        #expect(HostResources(pinned).cpus == Derived(1, because: "the scheduler may use 1 CPU (4)"))
    }

    /// A virtual machine that may grow lists future CPUs as allowed.
    @Test("CPUs that are offline do not count")
    func offlineCPUsAreNoResources() {
        func cpus(_ allowed: String, online: String) -> Derived<Double> {
            let files = "== /proc/self/status\nCpus_allowed_list:\t\(allowed)\n== /sys/devices/system/cpu/online\n"
            return HostResources(.fixture(files + online)).cpus
        }
        #expect(
            cpus("0-127", online: "0-3")
                == Derived(4, because: "the scheduler may use 4 CPUs (0-3); the others of 0-127 are offline"))
        #expect(
            cpus("0-3,8-9", online: "0,2-8")
                == Derived(4, because: "the scheduler may use 4 CPUs (0,2-3,8); the others of 0-3,8-9 are offline"))
        // All are online, or the file contradicts: it may be that of another host.
        for online in ["0-7", "", "8-9", "x"] {
            #expect(cpus("0-7", online: online) == Derived(8, because: "the scheduler may use 8 CPUs (0-7)"))
        }
    }

    @Test("memory.high counts as a memory limit")
    func memoryHighIsALimitToo() {
        let files = HostFiles.server.with("== /sys/fs/cgroup/system.slice/ocelli.service/memory.high\n805306368")
        #expect(
            HostResources(files).memoryBytes
                == Derived(768 << 20, because: "memory.high of /system.slice/ocelli.service is 768 MiB"))
    }

    /// Only version 1: no line with hierarchy 0, a mount for each controller.
    @Test("control groups of version 1 are read from their own files")
    func versionOneHasItsOwnFiles() {
        let files = HostFiles.server.with(
            """
            == /proc/self/cgroup
            5:memory:/docker/c0ffee
            4:cpuset:/docker/c0ffee
            3:cpu,cpuacct:/docker/c0ffee
            1:name=systemd:/docker/c0ffee
            == /proc/self/mountinfo
            33 31 0:29 /docker/c0ffee /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct
            35 31 0:32 /docker/c0ffee /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory
            36 31 0:33 /docker/c0ffee /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset
            == /sys/fs/cgroup/memory/memory.limit_in_bytes
            9223372036854771712
            == /sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us
            -1
            == /sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us
            100000
            """)
        #expect(HostResources(files).cpus.value == 8)
        #expect(HostResources(files).memoryBytes.reason == "the host has 15.6 GiB")

        let limited = HostResources(
            files.with(
                """
                == /sys/fs/cgroup/memory/memory.limit_in_bytes
                268435456
                == /sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us
                250000
                == /sys/fs/cgroup/cpuset/cpuset.effective_cpus
                0-3
                """))
        #expect(
            limited.cpus
                == Derived(
                    2.5, because: "cpu.cfs_quota_us of / allows 250000 of every 100000 µs, which is 2.5 CPUs"))
        #expect(limited.memoryBytes == Derived(256 << 20, because: "memory.limit_in_bytes of / is 256 MiB"))
    }

    /// Both versions mounted, the controllers with version 1: systemd's hybrid mode.
    @Test("a hybrid host has its limits in version 1 of the control groups")
    func aHybridHostHasItsLimitsInVersionOne() {
        let resources = HostResources(
            .server.with(
                """
                == /proc/self/cgroup
                4:memory:/job
                1:cpu:/
                0::/
                == /proc/self/mountinfo
                32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
                35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
                41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
                == /sys/fs/cgroup/memory/job/memory.limit_in_bytes
                1048576000
                """))
        #expect(resources.memoryBytes == Derived(1_048_576_000, because: "memory.limit_in_bytes of /job is 1000 MiB"))
    }

    @Test("on a host without readable files one CPU and 1 GiB are assumed, and the reasons say so")
    func nothingToReadIsSaid() {
        let resources = HostResources(HostFiles(text: { _ in nil }, openFiles: { nil }))
        #expect(resources.cpus == Derived(1, because: "the number of CPUs is unknown: assuming one"))
        #expect(resources.wholeCPUs.value == 1)
        #expect(
            resources.memoryBytes
                == Derived(1 << 30, because: "the amount of memory is unknown: assuming 1 GiB"))
        #expect(resources.openFiles.value == 1 << 20)
    }

    @Test(
        "a malformed CPU quota is ignored",
        arguments: [
            "", "max", "max max", "0 100000", "100000 0", "-5 100000", "100000 -5", "nan 100000", "inf 100000",
            "100000 nan", "1e400 1", "abc", "99999999999999999999999999 1", " ", "100000\u{0}", "٣ ٣",
        ])
    func aQuotaThatMakesNoSenseIsPassedOver(text: String) {
        let path = "/sys/fs/cgroup/system.slice/ocelli.service/cpu.max"
        #expect(HostResources(.server.with("== \(path)\n\(text)")).cpus.value == 8)
    }

    @Test("a CPU quota without a period has the usual period of 100 ms")
    func aQuotaWithoutAPeriodIsOfTheUsualOne() {
        let path = "/sys/fs/cgroup/system.slice/ocelli.service/cpu.max"
        #expect(HostResources(.server.with("== \(path)\n200000")).cpus.value == 2)
    }

    @Test(
        "a malformed cpuset is ignored, and a malformed CPU affinity counts as one CPU",
        arguments: ["", "-", "0-", "3-1", "0,0", "a", "0-1048576", "99999999999999999999", "0--1", "1,", "-1"])
    func aListThatMakesNoSenseIsPassedOver(text: String) {
        #expect(HostResources(.server.with("== /sys/fs/cgroup/cpuset.cpus.effective\n\(text)")).cpus.value == 8)
        let lost = HostFiles.server.with("== /proc/self/status\nCpus_allowed_list:\t\(text)")
        #expect(HostResources(lost).cpus.value == 1)
    }

    @Test("random file contents never give impossible resources or sizes")
    func textsOfNoiseAreSurvived() {
        let seed = SplitMix.seed(for: "textsOfNoiseAreSurvived")
        var random = SplitMix(seed: seed)
        let alphabet = Array("0123456789-,:/ \n\\.max=kBMemTotalcgroup2cpuset")
        for _ in 0..<2000 {
            let texts = (0..<8).map { _ in
                String(
                    (0..<Int.random(in: 0...60, using: &random)).compactMap { _ in
                        alphabet.randomElement(using: &random)
                    })
            }
            let files = HostFiles(text: { path in texts[path.utf8.count % texts.count] }, openFiles: { -1 })
            let resources = HostResources(files)
            #expect(resources.cpus.value > 0 && resources.cpus.value.isFinite)
            #expect(resources.wholeCPUs.value >= 1)
            #expect(resources.memoryBytes.value > 0)
            let sizing = Sizing(resources)
            #expect(sizing.slots.value > sizing.inferRequests.value)
            #expect(sizing.connections.value > 0 && sizing.pixels.value > 0 && sizing.bodyBytes.value > 0)
        }
    }

    @Test("the CPUs and the memory of this host are measured, not assumed")
    func resources_ofThisHost_areMeasured() {
        let resources = HostResources()
        #expect(resources.cpus.value > 0)
        #expect(resources.wholeCPUs.value >= 1)
        #expect(resources.memoryBytes.value > 1 << 20)
        #expect(!resources.cpus.reason.contains("assuming"))
        #expect(!resources.memoryBytes.reason.contains("assuming"))
    }
}
