package import Inference

/// The measurements of a model by `ocelli report` (Core ML's performance report). Times are in nanoseconds.
package struct ModelReport: Sendable {
    /// A number of predictions in flight, and the resulting rate per second.
    package struct Throughput: Sendable, Hashable {
        package let inFlight: Int
        package let perSecond: Double
        package let latency: SampleStatistics
    }

    /// The variant for single-stream requests.
    package struct SingleStream: Sendable, Hashable {
        package let threads: Int
        package let latency: SampleStatistics
        /// The time to load it in addition to the model, in nanoseconds; from the cache of compiled models if
        /// `isCached`.
        package let load: UInt64
        package let isCached: Bool
        /// The memory that it takes in addition to the model, in bytes; nil if unknown.
        package let bytes: Int?
    }

    /// All layers of one operation.
    package struct LayerType: Sendable, Hashable {
        package let type: String
        package let count: Int
        package let microseconds: Double
        /// The share of the time of all layers.
        package let share: Double
    }

    /// One layer.
    package struct Layer: Sendable, Hashable {
        package let name: String, type: String, execution: String
        package let microseconds: Double
        package let share: Double
    }

    /// The measured model, and its configuration.
    package var model = "", path = "", engine = "", device = "", hint = "", precision = ""
    package var processors = 0.0
    package var instances = 0, slots = 0
    /// The load without a cache of compiled models, and with one that contains this model.
    package var uncached = LoadReport(), cached = LoadReport()
    /// The first prediction after an uncached load.
    package var firstPrediction: UInt64?
    /// The latencies of successive predictions.
    package var latency: SampleStatistics?
    /// The latencies with the variant for single-stream requests; nil for a model without one.
    package var singleStream: SingleStream?
    package var throughput: [Throughput] = []
    /// The memory of the loaded model, and of each further prediction in flight, in bytes; nil if unknown.
    package var modelBytes: Int?, predictionBytes: Int?
    package var layerTypes: [LayerType] = []
    package var layers: [Layer] = []
    package var layerCount = 0
    /// The reasons to doubt the figures.
    package var warnings: [String] = []

    package init() {}

    /// The throughput with the most predictions per second.
    package var bestThroughput: Throughput? { throughput.max { $0.perSecond < $1.perSecond } }

    /// Takes the profiles of several inferences: the time of each layer is the mean.
    mutating func setLayers(_ runs: [[LayerProfile]], top: Int) {
        guard let first = runs.first, !first.isEmpty else { return }
        var sums = [Double](repeating: 0, count: first.count)
        var counted = 0.0
        for run in runs where run.count == first.count {
            counted += 1
            for (index, layer) in run.enumerated() { sums[index] += Double(layer.microseconds) }
        }
        let means = sums.map { $0 / max(counted, 1) }
        let total = max(means.reduce(0, +), .leastNonzeroMagnitude)
        // The engine lists layers that were fused into others with no time.
        let measured = zip(first, means).filter { $0.1 > 0 }
        layerCount = measured.count
        layers = measured.sorted { $0.1 > $1.1 }.prefix(top).map { layer, time in
            Layer(
                name: layer.name, type: layer.type, execution: layer.execution, microseconds: time,
                share: time / total)
        }
        layerTypes = Dictionary(grouping: measured) { $0.0.type }.map { type, members in
            let time = members.reduce(0) { $0 + $1.1 }
            return LayerType(type: type, count: members.count, microseconds: time, share: time / total)
        }.sorted { ($0.microseconds, $1.type) > ($1.microseconds, $0.type) }
    }
}
