/// The limits derived from the resources of the process, each with its reason: for `ocelli limits`, for the log at the
/// start, and as defaults of the settings. They do not exceed the documented defaults (`Ceilings`), but a setting may.
public struct Sizing: Sendable, Hashable {
    /// The documented defaults, which are the maxima of derived values.
    public struct Ceilings: Sendable, Hashable {
        /// The body of one request: 20 MiB.
        public var bodyBytes = 20 << 20
        /// All bodies being received or waiting: 256 MiB.
        public var bodyBudgetBytes = 256 << 20
        /// The pixels of one picture: 64 million.
        public var pixels = 64_000_000
        /// The number of waiting requests: 256.
        public var queueCapacity = 256
        /// The number of connections: 4,096.
        public var connections = 4096

        /// The documented defaults.
        public init() {}
    }

    /// Configured values, which override derived ones.
    public struct Given: Sendable, Hashable {
        /// Threads, parallel predictions, infer requests and slots of a model; nil to derive the value.
        public var threads: Int?, streams: Int?, inferRequests: Int?, slots: Int?
        /// True if all threads work on one prediction.
        public var isForLatency = false

        /// No value is configured.
        public init() {}
    }

    /// Threads for computation, for all models together.
    public let inferenceThreads: Derived<Int>
    /// Parallel predictions of the engine, each with its share of the threads.
    public let streams: Derived<Int>
    /// Parallel predictions of an engine that computes each on a single thread; nil if equal to `streams`.
    public let streamsOfOneThread: Int?
    /// Threads of a single prediction when no other runs.
    public let loneThreads: Derived<Int>
    /// Infer requests in a model's pool.
    public let inferRequests: Derived<Int>
    /// Requests that hold decoded inputs at the same time: the limit of the limiter.
    public let slots: Derived<Int>
    /// Requests that wait for a slot.
    public let queueCapacity: Derived<Int>
    /// The body of one request, in bytes.
    public let bodyBytes: Derived<Int>
    /// All bodies together, in bytes.
    public let bodyBudgetBytes: Derived<Int>
    /// The pixels of one picture.
    public let pixels: Derived<Int>
    /// Open connections.
    public let connections: Derived<Int>
    /// Threads that accept connections, read requests and write answers.
    public let eventLoops: Derived<Int>

    /// Derives the limits from `resources`.
    public init(_ resources: HostResources, ceilings: Ceilings = Ceilings(), given: Given = Given()) {
        let cpus = resources.wholeCPUs
        let memory = resources.memoryBytes.value
        let memoryText = describe(bytes: memory)

        let asConfigured = "as configured"
        let topology = resources.topology
        let hasOneStream = given.streams.map { $0 == 1 } ?? given.isForLatency
        // A configured number is used unchanged.
        let isFree = given.threads == nil && given.streams == nil && !hasOneStream
        let placement = isFree ? StreamPlacement(topology, threads: cpus.value) : nil
        let oneNode = topology.threadsOfOne.flatMap { cores in
            cores < given.threads ?? cpus.value
                ? Derived(
                    cores,
                    because: "the cores of one of \(topology.nodes.count) NUMA nodes: threads on several "
                        + "nodes wait for remote memory")
                : nil
        }
        inferenceThreads =
            placement.map { Self.threads($0, topology) } ?? (hasOneStream ? oneNode : nil)
            ?? Derived(cpus.value, because: "one for each whole CPU: \(cpus.reason)")
        streams =
            given.streams.map { Derived($0, because: asConfigured) }
            ?? (given.isForLatency
                ? Derived(1, because: "the latency hint: all threads work on one prediction")
                : placement.map { Self.streams($0, topology) } ?? Self.streams(threads: cpus.value))
        streamsOfOneThread = placement?.threads
        loneThreads =
            oneNode
            ?? Derived(
                given.threads ?? cpus.value, because: "all threads: no other request uses them")
        inferRequests =
            given.inferRequests.map { Derived($0, because: asConfigured) }
            ?? Derived(streams.value, because: "one for each stream: more would only wait inside the engine")
        slots = given.slots.map { Derived($0, because: asConfigured) } ?? Self.slots(requests: inferRequests.value)

        bodyBudgetBytes = Self.capped(
            Int(clamping: memory / 8), at: ceilings.bodyBudgetBytes, atLeast: 1 << 20, in: { Self.text(bytes: $0) },
            because: "an eighth of the memory (\(memoryText))")
        bodyBytes = Self.capped(
            bodyBudgetBytes.value / 2, at: ceilings.bodyBytes, atLeast: 1 << 19, in: { Self.text(bytes: $0) },
            because: "half of the budget of all bodies")

        // A typical picture has a few hundred KiB. More requests may wait than fit into the budget: then their sockets
        // are not read, which costs only time.
        queueCapacity = Self.capped(
            bodyBudgetBytes.value / (256 << 10), at: ceilings.queueCapacity, atLeast: slots.value, in: { "\($0)" },
            because: "the budget of all bodies divided by 256 KiB")

        // A progressive JPEG keeps its coefficients, 2 bytes for each of 3 samples, until its end.
        pixels = Self.capped(
            Int(clamping: memory / 2 / 6 / UInt64(slots.value)), at: ceilings.pixels, atLeast: 1_000_000,
            in: { "\($0)" },
            because: "half of the memory (\(memoryText)) for \(slots.value) pictures at 6 bytes a pixel")
        connections = Self.connections(resources, memoryText, ceiling: ceilings.connections)
        eventLoops = Self.eventLoops(processors: cpus.value)
    }

    /// Derives the limits for this process.
    public init() {
        self.init(HostResources())
    }

    // MARK: Rules

    private static func streams(threads: Int) -> Derived<Int> {
        // Measured with 16 processors (Benchmarks/results/2026-11-26-streams.md): 1.12 to 1.44 times the answers of
        // half as many streams.
        let maximum = StreamPlacement.maximumNarrowStreams
        guard threads > maximum else {
            return Derived(
                threads,
                because: threads == 1
                    ? "one thread is one stream"
                    : "one thread each: parallel predictions do not wait for each other's threads")
        }
        return Derived(
            max(maximum, threads / 2),
            because: "two threads each, or \(maximum) streams: each stream takes memory for the model's tensors")
    }

    private static func threads(_ placement: StreamPlacement, _ topology: ProcessorTopology) -> Derived<Int> {
        Derived(
            placement.threads,
            because: "one for each core of the streams: \(placement.threads) of \(placement.cores) on "
                + "\(topology.nodes.count) NUMA nodes")
    }

    private static func streams(_ placement: StreamPlacement, _ topology: ProcessorTopology) -> Derived<Int> {
        let width = placement.threadsPerStream
        return Derived(
            placement.streams,
            because: "\(plural(width, "core")) each, all of one of \(topology.nodes.count) NUMA nodes: threads on "
                + "several nodes wait for remote memory")
    }

    /// The slots of a model, from its number of infer requests.
    public static func slots(requests: Int) -> Derived<Int> {
        let more = max(1, (requests + 1) / 2)
        return Derived(
            requests + more,
            because: "\(requests) for inference and \(more) more, whose pictures are decoded meanwhile")
    }

    private static func connections(_ resources: HostResources, _ memoryText: String, ceiling: Int) -> Derived<Int> {
        // A quarter of the descriptors is reserved for models, caches and the engine's files.
        let byFiles = resources.openFiles.value / 4 * 3
        // A connection with a full header block takes 16 KiB, and as much again in the kernel.
        let byMemory = Int(clamping: resources.memoryBytes.value / 16 / (32 << 10))
        return byFiles < byMemory
            ? capped(
                byFiles, at: ceiling, atLeast: 16, in: { "\($0)" },
                because: "three quarters of the \(resources.openFiles.value) files that may be open")
            : capped(
                byMemory, at: ceiling, atLeast: 16, in: { "\($0)" },
                because: "a sixteenth of the memory (\(memoryText)) at 32 KiB each")
    }

    private static func eventLoops(processors: Int) -> Derived<Int> {
        // A loop takes about 0.1 ms for a picture of 105 KB; decoder and engine take several milliseconds.
        let each = 16
        return Derived(min(max(1, processors / each), 16), because: "one for every \(each) processors, from 1 to 16")
    }

    /// Clamps a derived value to its bounds; the reason tells which of the three applies.
    private static func capped(
        _ derived: Int, at ceiling: Int, atLeast floor: Int, in text: (Int) -> String, because reason: String
    ) -> Derived<Int> {
        if derived >= ceiling { return Derived(ceiling, because: "the default; \(reason) would be \(text(derived))") }
        if derived <= floor {
            return Derived(
                min(floor, ceiling), because: "the minimum; \(reason) would be \(text(derived))")
        }
        return Derived(derived, because: reason)
    }

    private static func text(bytes: Int) -> String {
        describe(bytes: UInt64(clamping: bytes))
    }
}
