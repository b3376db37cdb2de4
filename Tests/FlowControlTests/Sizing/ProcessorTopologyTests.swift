import FlowControl
import Testing

/// Nodes and streams for simulated sysfs trees, because no such machine was available.
@Suite struct ProcessorTopologyTests {
    /// A machine with these nodes, each a list of processors; nil makes the file unreadable.
    /// - Parameters:
    ///   - processors: the number of processors; all are allowed and online.
    ///   - sibling: the distance between the two processors of a core; nil if each core has one processor.
    static func machine(
        _ nodes: [String?], processors: Int, sibling: Int? = nil, online: String? = nil
    ) -> HostFiles {
        var text = """
            == /proc/self/status
            Cpus_allowed_list:	0-\(processors - 1)
            == /sys/devices/system/cpu/online
            0-\(processors - 1)
            == /sys/devices/system/node/online
            \(online ?? (nodes.count == 1 ? "0" : "0-\(nodes.count - 1)"))

            """
        for (number, list) in nodes.enumerated() {
            guard let list else { continue }
            text += "== /sys/devices/system/node/node\(number)/cpulist\n\(list)\n"
        }
        for processor in 0..<processors {
            let first = sibling.map { processor % $0 }
            let siblings = first.flatMap { first in sibling.map { "\(first),\(first + $0)" } } ?? "\(processor)"
            text += "== /sys/devices/system/cpu/cpu\(processor)/topology/thread_siblings_list\n\(siblings)\n"
        }
        return HostFiles.server.with(text)
    }

    /// Two sockets of 32 cores with two processors each: 128 processors.
    static let twoSockets = machine(["0-31,64-95", "32-63,96-127"], processors: 128, sibling: 64)

    /// `nodes: threads streams streamsOfOneThread loneThreads slots`
    private func found(_ files: HostFiles, _ given: Sizing.Given = Sizing.Given()) -> String {
        let resources = HostResources(files)
        let it = Sizing(resources, given: given)
        let nodes = resources.topology.nodes.map { "\($0.number)=\($0.cores)(\($0.processors))" }
        let single = it.streamsOfOneThread.map { "\($0)" } ?? "-"
        return "\(nodes.joined(separator: " ")): \(it.inferenceThreads.value) \(it.streams.value) \(single) "
            + "\(it.loneThreads.value) \(it.slots.value)"
    }

    @Test("one node is no topology, and 2 processors have 2 streams, as without the files")
    func oneNodeOfTwo() {
        #expect(found(Self.machine(["0-1"], processors: 2)) == ": 2 2 - 2 3")
    }

    @Test("on one node all sizes are those of a machine without the files", arguments: [1, 2, 6, 16, 17, 40, 128])
    func oneNodeChangesNothing(_ processors: Int) {
        let bare = HostFiles.server.with("== /proc/self/status\nCpus_allowed_list:\t0-\(processors - 1)")
        let one = Self.machine(["0-\(processors - 1)"], processors: processors)
        for threads in [nil, 3] {
            for streams in [nil, 1, 5] {
                for isForLatency in [false, true] {
                    var given = Sizing.Given()
                    given.threads = threads
                    given.streams = streams
                    given.isForLatency = isForLatency
                    #expect(
                        Sizing(HostResources(one), given: given) == Sizing(HostResources(bare), given: given))
                }
            }
        }
        #expect(Sizing(HostResources(bare)).loneThreads.value == processors)
        #expect(HostResources(one).topology.summary == nil)
    }

    @Test("two nodes of 8 cores have 16 streams of one thread, and a single request has one node")
    func twoNodesOfEight() {
        let files = Self.machine(["0-7", "8-15"], processors: 16)
        #expect(found(files) == "0=8(0-7) 1=8(8-15): 16 16 16 8 24")
    }

    @Test("eight nodes of 16 cores (AMD, NPS4) have 32 streams of four cores")
    func eightNodesOfSixteen() {
        let lists = (0..<8).map { "\($0 * 16)-\($0 * 16 + 15)" }
        let nodes = (0..<8).map { "\($0)=16(\($0 * 16)-\($0 * 16 + 15))" }.joined(separator: " ")
        #expect(found(Self.machine(lists, processors: 128)) == nodes + ": 128 32 128 16 48")
    }

    @Test("two sockets of 32 cores with two processors each have 16 streams of four cores, and the reasons say so")
    func twoSocketsWithSiblings() {
        #expect(found(Self.twoSockets) == "0=32(0-31,64-95) 1=32(32-63,96-127): 64 16 64 32 24")
        let resources = HostResources(Self.twoSockets)
        let it = Sizing(resources)
        #expect(it.inferenceThreads.reason == "one for each core of the streams: 64 of 64 on 2 NUMA nodes")
        #expect(
            it.streams.reason
                == "4 cores each, all of one of 2 NUMA nodes: threads on several nodes wait for remote memory")
        #expect(
            it.loneThreads.reason == "the cores of one of 2 NUMA nodes: threads on several nodes wait for remote memory"
        )
        #expect(
            resources.topology.summary == "node 0 has 32 cores (0-31,64-95), node 1 has 32 cores (32-63,96-127)")
    }

    @Test("streams have the width that leaves the fewest cores idle: nodes of 10 have two of five, of 9 three of three")
    func widthsThatFit() {
        let tens = (0..<8).map { "\($0 * 10)-\($0 * 10 + 9)" }
        #expect(found(Self.machine(tens, processors: 80)).hasSuffix(": 80 16 80 10 24"))
        #expect(found(Self.machine(["0-8", "9-17"], processors: 18)).hasSuffix(": 18 6 18 9 9"))
        // Two streams of five leave one core of eleven to decoding; two streams of four would leave three.
        let elevens = (0..<6).map { "\($0 * 11)-\($0 * 11 + 10)" }
        #expect(found(Self.machine(elevens, processors: 66)).hasSuffix(": 60 12 60 11 18"))
        let ones = (0..<70).map { "\($0)" }
        #expect(found(Self.machine(ones, processors: 70)).hasSuffix(": 70 70 70 1 105"))
    }

    @Test("a node without processors (CXL) is ignored, which may leave a single node")
    func nodesOfMemoryAlone() {
        #expect(
            found(Self.machine(["0-7", "8-15", ""], processors: 16)) == "0=8(0-7) 1=8(8-15): 16 16 16 8 24")
        #expect(found(Self.machine(["0-15", "", ""], processors: 16)) == ": 16 16 - 16 24")
        #expect(HostResources(Self.machine(["0-15", ""], processors: 16)).topology.problem == nil)
    }

    @Test("the numbers of nodes may have gaps")
    func numbersWithGaps() {
        let files = Self.machine(["0-7", nil, "8-15"], processors: 16, online: "0,2")
        #expect(found(files) == "0=8(0-7) 2=8(8-15): 16 16 16 8 24")
    }

    @Test("processors that are offline do not count, whether their node lists them or not", arguments: ["0-5", "0-7"])
    func offlineProcessors(_ first: String) {
        let files = Self.machine([first, "8-15"], processors: 16).with("== /sys/devices/system/cpu/online\n0-5,8-15")
        #expect(found(files) == "0=6(0-5) 1=8(8-15): 14 14 14 6 21")
    }

    @Test("a core of which one processor is offline or forbidden is counted by its other processor")
    func halfCores() {
        let files = Self.twoSockets.with("== /sys/devices/system/cpu/online\n16-127")
        #expect(found(files) == "0=32(16-31,64-95) 1=32(32-63,96-127): 64 16 64 32 24")
        let upper = Self.twoSockets.with("== /proc/self/status\nCpus_allowed_list:\t64-127")
        #expect(found(upper) == "0=32(64-95) 1=32(96-127): 64 16 64 32 24")
    }

    @Test("a cpuset of half a node and a quarter of another counts as that", arguments: [true, false])
    func partsOfNodes(_ isSet: Bool) {
        func limited(_ files: HostFiles, _ list: String) -> HostFiles {
            files.with(
                isSet
                    ? "== /sys/fs/cgroup/system.slice/ocelli.service/cpuset.cpus.effective\n\(list)"
                    : "== /proc/self/status\nCpus_allowed_list:\t\(list)")
        }
        let small = limited(Self.machine(["0-15", "16-31"], processors: 32), "0-7,16-19")
        #expect(found(small) == "0=8(0-7) 1=4(16-19): 12 12 12 4 18")
        let large = limited(Self.machine(["0-63", "64-127"], processors: 128), "0-31,64-79")
        #expect(found(large) == "0=32(0-31) 1=16(64-79): 48 12 48 16 18")
        // A node with few of the cores does not limit the threads of a prediction.
        let stray = limited(Self.machine(["0-63", "64-127"], processors: 128), "0-31,64")
        #expect(found(stray) == "0=32(0-31) 1=1(64): 32 8 32 32 12")
        let one = limited(Self.machine(["0-63", "64-127"], processors: 128), "64-79")
        #expect(found(one) == ": 16 16 - 16 24")
    }

    @Test("a quota that one node can serve is served as on one node, and a larger one has fewer streams")
    func quotas() {
        func quota(_ cpus: Int) -> HostFiles {
            Self.twoSockets.with(
                "== /sys/fs/cgroup/system.slice/ocelli.service/cpu.max\n\(cpus)00000 100000")
        }
        let nodes = "0=32(0-31,64-95) 1=32(32-63,96-127): "
        #expect(found(quota(16)) == nodes + "16 16 - 16 24")
        #expect(found(quota(32)) == nodes + "32 16 - 32 24")
        #expect(found(quota(48)) == nodes + "48 16 48 32 24")
        #expect(found(quota(33)) == nodes + "33 11 33 32 17")
    }

    @Test("a configured number is used unchanged; one stream has the cores of one node")
    func configuredNumbers() {
        let nodes = "0=32(0-31,64-95) 1=32(32-63,96-127): "
        var given = Sizing.Given()
        given.isForLatency = true
        #expect(found(Self.twoSockets, given) == nodes + "32 1 - 32 2")
        given.streams = 24
        #expect(found(Self.twoSockets, given) == nodes + "128 24 - 32 36")
        given = Sizing.Given()
        given.streams = 1
        #expect(found(Self.twoSockets, given) == nodes + "32 1 - 32 2")
        given.streams = 24
        #expect(found(Self.twoSockets, given) == nodes + "128 24 - 32 36")
        given.streams = nil
        given.threads = 48
        #expect(found(Self.twoSockets, given) == nodes + "128 64 - 32 96")
        given.threads = 8
        #expect(found(Self.twoSockets, given) == nodes + "128 64 - 8 96")
    }

    @Test("processors with invalid sibling files are cores of their own", arguments: ["", "x", "3-2", "1-200000000"])
    func siblingsWithoutSense(_ text: String) {
        let file = "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list"
        let files = Self.machine(["0-3,8-11", "4-7,12-15"], processors: 16, sibling: 8)
        #expect(found(files) == "0=4(0-3,8-11) 1=4(4-7,12-15): 8 8 8 4 12")
        // Processor 8 refers to 0 as its first sibling: only 0 counts, with or without a file of its own.
        #expect(found(files.with("== \(file)\n\(text)")) == "0=4(0-3,8-11) 1=4(4-7,12-15): 8 8 8 4 12")
        let other = file.replacing("cpu0", with: "cpu8")
        #expect(found(files.with("== \(other)\n\(text)")) == "0=5(0-3,8-11) 1=4(4-7,12-15): 9 9 9 4 14")
    }

    /// `tree | problem`
    private static let senseless: [(HostFiles, String)] = [
        (machine(["0-7", nil], processors: 16), "/sys/devices/system/node/node1/cpulist cannot be read"),
        (
            machine(["0-7", "8-15,x"], processors: 16),
            "/sys/devices/system/node/node1/cpulist is not a list of processors: \"8-15,x\""
        ),
        (
            machine(["0-7", "15-8"], processors: 16),
            "/sys/devices/system/node/node1/cpulist is not a list of processors: \"15-8\""
        ),
        (
            machine(["0-7", "8-99999999999999999999"], processors: 16),
            "/sys/devices/system/node/node1/cpulist is not a list of processors: \"8-99999999999999999999\""
        ),
        (
            machine(["0-7", "7-15"], processors: 16),
            "/sys/devices/system/node/node1/cpulist has processors of another node"
        ),
        (machine(["0-7", "8-11"], processors: 16), "processor 12 is in no node"),
        (machine(["", ""], processors: 16), "processor 0 is in no node"),
        (
            machine(["0-7", "8-15"], processors: 16, online: "zero"),
            "/sys/devices/system/node/online is not a list of nodes: \"zero\""
        ),
        (
            machine(["0-7", "8-15"], processors: 16, online: "0-1024"),
            "/sys/devices/system/node/online is not a list of nodes: \"0-1024\""
        ),
        (
            machine(["0-7", "8-15"], processors: 16, online: ""),
            "/sys/devices/system/node/online is not a list of nodes: \"\""
        ),
    ]

    @Test("an invalid tree is one node, and the problem names the file", arguments: 0..<senseless.count)
    func treesWithoutSense(_ index: Int) {
        let (files, problem) = Self.senseless[index]
        let resources = HostResources(files)
        #expect(resources.topology.problem == problem)
        #expect(resources.topology.summary == "taken for one: \(problem)")
        #expect(found(files) == ": 16 16 - 16 24")
    }

    @Test("without the processors of the process, several nodes are one")
    func unknownProcessors() {
        let files = Self.machine(["0-7", "8-15"], processors: 16).with("== /proc/self/status\nName:\tocelli")
        let topology = HostResources(files).topology
        #expect(topology.nodes.isEmpty)
        #expect(topology.problem == "it is unknown which processors this process may use")
    }

    @Test("a kernel or a container without the files has one node, and no problem")
    func noFiles() {
        let topology = HostResources(.server).topology
        #expect(topology.nodes.isEmpty && topology.problem == nil)
    }

    @Test("the files of this machine are read without a problem")
    func thisMachine() {
        #expect(HostResources().topology.problem == nil)
    }
}
