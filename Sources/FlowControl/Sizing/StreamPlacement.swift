/// The streams of a model with threads on several NUMA nodes.
///
/// OpenVINO fills one node after the other with whole streams, one thread for each core, and pins the threads to their
/// cores. A stream that does not fit into a node gets cores of several nodes, whose threads wait for remote memory. So
/// the number of streams is limited to those that fit.
struct StreamPlacement {
    let streams: Int
    let threadsPerStream: Int
    /// The number of cores available: of all nodes, or fewer because of a quota.
    let cores: Int

    var threads: Int { streams * threadsPerStream }

    /// The maximum number of streams of one thread: beyond it, streams get wider first, because each takes memory for
    /// the model's tensors.
    static let maximumNarrowStreams = 16
    /// The width of a stream, in cores, from which on the number of streams grows instead.
    private static let wide = 4

    /// Nil if the threads fit into one node.
    init?(_ topology: ProcessorTopology, threads: Int) {
        guard let largest = topology.largestNode, threads > largest else { return nil }
        let sizes = topology.nodes.map(\.cores)
        let available = min(threads, sizes.reduce(0, +))
        let width = min(Self.wide, (available + Self.maximumNarrowStreams - 1) / Self.maximumNarrowStreams, largest)
        // Try similar widths, which may leave fewer cores idle: a node of ten has two streams of five.
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
