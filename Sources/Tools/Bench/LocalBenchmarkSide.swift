/// The stages of a request that are measured separately. Each one includes the stages before it.
package enum LocalBenchmarkSide: String, Sendable, CaseIterable {
    /// The engine, on prepared tensors.
    case engine
    /// Decoding pictures to tensors.
    case decode
    /// Slot, decoding, infer request and labels, in this process.
    case pipeline
    /// The pipeline as a request over loopback: `POST /v1/classify`, or the route of the model's task.
    case socket
}

/// The measurements of one side in one round.
package struct LocalBenchmarkRound: Sendable, Hashable {
    package var requests = 0
    /// The time in seconds from the start of the first request to the end of the last one.
    package var seconds = 0.0
    /// The processor time in seconds, without the load generator's.
    package var cpuSeconds = 0.0
    /// The processor time of the load generator in seconds.
    package var generatorSeconds = 0.0

    package init() {}

    package var rate: Double { seconds > 0 ? Double(requests) / seconds : 0 }

    /// The rate as if the generator had run on another machine: its processor time is subtracted from the time. Correct
    /// only if the processors were busy all the time.
    package func rateWithoutGenerator(processors: Double) -> Double {
        let left = seconds - generatorSeconds / max(processors, 1)
        return left > 0 ? Double(requests) / left : 0
    }

    package var cpuMicroseconds: Double { requests > 0 ? cpuSeconds * 1e6 / Double(requests) : 0 }

    /// The share of the processors' time used by this process, including the generator.
    package func busy(processors: Double) -> Double {
        seconds > 0 ? (cpuSeconds + generatorSeconds) / (seconds * max(processors, 1)) : 0
    }
}
