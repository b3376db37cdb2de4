import FlowControl
import Testing

@Suite struct SizingTests {
    private func sizing(cpus: Int, memory: UInt64, openFiles: Int = 1 << 20) -> Sizing {
        let files = HostFiles.fixture(
            """
            == /proc/self/status
            Cpus_allowed_list:	0-\(cpus - 1)
            == /proc/meminfo
            MemTotal: \(memory / 1024) kB
            """, openFiles: openFiles)
        return Sizing(HostResources(files))
    }

    /// `threads streams requests slots | queue body bodies pixels connections | event loops`
    private static let table: [(cpus: Int, mebibytes: UInt64, expected: String)] = [
        (1, 1024, "1 1 1 2 | 256 20971520 134217728 44739242 2048 | 1"),
        (2, 24576, "2 2 2 3 | 256 20971520 268435456 64000000 4096 | 1"),
        (4, 8192, "4 4 4 6 | 256 20971520 268435456 64000000 4096 | 1"),
        (6, 8192, "6 6 6 9 | 256 20971520 268435456 64000000 4096 | 1"),
        (16, 32768, "16 16 16 24 | 256 20971520 268435456 64000000 4096 | 1"),
        (17, 32768, "17 16 16 24 | 256 20971520 268435456 64000000 4096 | 1"),
        (40, 65536, "40 20 20 30 | 256 20971520 268435456 64000000 4096 | 2"),
        (2, 128, "2 2 2 3 | 64 8388608 16777216 3728270 256 | 1"),
        (64, 64, "64 32 32 48 | 48 4194304 8388608 1000000 128 | 4"),
        (1, 1, "1 1 1 2 | 4 524288 1048576 1000000 16 | 1"),
        (512, 1 << 20, "512 256 256 384 | 256 20971520 268435456 64000000 4096 | 16"),
    ]

    @Test("all sizes follow from the CPUs and the memory", arguments: table)
    func followsFromCPUsAndMemory(cpus: Int, mebibytes: UInt64, expected: String) {
        let it = sizing(cpus: cpus, memory: mebibytes << 20)
        let engine = [it.inferenceThreads, it.streams, it.inferRequests, it.slots].map { "\($0.value)" }
        let bounds = [it.queueCapacity, it.bodyBytes, it.bodyBudgetBytes, it.pixels, it.connections].map {
            "\($0.value)"
        }
        #expect(
            engine.joined(separator: " ") + " | " + bounds.joined(separator: " ") + " | \(it.eventLoops.value)"
                == expected)
    }

    @Test("every derived size has its reason")
    func everyDerivedSize_hasItsReason() {
        let it = sizing(cpus: 2, memory: 1 << 30, openFiles: 1024)
        let reasons = [
            it.inferenceThreads.reason, it.streams.reason, it.inferRequests.reason, it.slots.reason,
            it.queueCapacity.reason, it.bodyBytes.reason, it.bodyBudgetBytes.reason, it.pixels.reason,
            it.connections.reason, it.eventLoops.reason,
        ]
        #expect(
            reasons == [
                "one for each whole CPU: the scheduler may use 2 CPUs (0-1)",
                "one thread each: parallel predictions do not wait for each other's threads",
                "one for each stream: more would only wait inside the engine",
                "2 for inference and 1 more, whose pictures are decoded meanwhile",
                "the default; the budget of all bodies divided by 256 KiB would be 512",
                "the default; half of the budget of all bodies would be 64 MiB",
                "an eighth of the memory (1 GiB)",
                "half of the memory (1 GiB) for 3 pictures at 6 bytes a pixel",
                "three quarters of the 1024 files that may be open",
                "one for every 16 processors, from 1 to 16",
            ])
    }

    @Test("other ceilings may be given for the queue and the pixels")
    func otherCeilingsMayBeGiven() {
        var ceilings = Sizing.Ceilings()
        ceilings.queueCapacity = 10
        ceilings.pixels = 500_000
        let it = Sizing(HostResources(.server), ceilings: ceilings)
        #expect(it.queueCapacity.value == 10)
        #expect(it.pixels.value == 500_000)
    }

    /// Configured values determine the others: the report and the daemon use the same numbers.
    @Test("given values are used, and the other sizes follow from the given values")
    func whatIsGivenIsWhatTheRestFollowsFrom() {
        var given = Sizing.Given()
        given.isForLatency = true
        var it = Sizing(HostResources(.server), given: given)
        #expect(it.streams.value == 1 && it.inferRequests.value == 1 && it.slots.value == 2)
        given.streams = 3
        it = Sizing(HostResources(.server), given: given)
        #expect(it.streams.value == 3 && it.inferRequests.value == 3 && it.slots.value == 5)
        given.inferRequests = 7
        it = Sizing(HostResources(.server), given: given)
        #expect(it.streams.value == 3 && it.inferRequests.value == 7 && it.slots.value == 11)
        given.slots = 2
        #expect(Sizing(HostResources(.server), given: given).slots.value == 2)
    }
}
