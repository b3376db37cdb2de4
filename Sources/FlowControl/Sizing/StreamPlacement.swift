/// The streams of a model whose threads are on several NUMA nodes.
///
/// OpenVINO fills one node after the other with whole streams, one thread a core, and pins the threads to their cores.
/// Streams that fit no node get cores of several, whose threads wait for far memory. So there are only as many streams
/// as fit.
struct StreamPlacement {
    let streams: Int
    let threadsPerStream: Int
    /// The cores that could be used: of all nodes, or fewer by a quota.
    let cores: Int

    var threads: Int { streams * threadsPerStream }

    /// Streams of one thread: with more threads they get wider at first, for each takes memory for the model's tensors.
    static let mostNarrow = 16
    /// Cores of a stream from which on there are more streams instead.
    private static let wide = 4

    /// Nil if one node has room for as many threads.
    init?(_ topology: ProcessorTopology, threads: Int) {
        guard let largest = topology.largestNode, threads > largest else { return nil }
        let sizes = topology.nodes.map(\.cores)
        let available = min(threads, sizes.reduce(0, +))
        let width = min(Self.wide, (available + Self.mostNarrow - 1) / Self.mostNarrow, largest)
        // About as wide, where that leaves fewer cores idle: a node of ten has two streams of five.
        let widths = width == 1 ? [1] : [width, width + 1, width - 1]
        let streams = widths.map { width in
            min(sizes.reduce(0) { $0 + $1 / width }, available / width)
        }
        var best = 0
        for index in widths.indices where widths[index] * streams[index] > widths[best] * streams[best] {
            best = index
        }
        self.streams = streams[best]
        threadsPerStream = widths[best]
        cores = available
    }
}
