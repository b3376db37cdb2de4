internal import InferenceService

/// The parts of a request's way that are measured each for itself, each holding what those before it do.
package enum LocalBenchmarkSide: String, Sendable, CaseIterable {
    /// The engine on tensors that are there already.
    case engine
    /// Pictures to tensors.
    case decode
    /// Slot, decoding, infer request and labels, in this process.
    case pipeline
    /// The same as a request over loopback: `POST /v1/classify`, or what else the model does.
    case socket
}

/// The cost of one round of one side.
package struct LocalBenchmarkRound: Sendable, Hashable {
    package var requests = 0
    /// Seconds from the first request's beginning to the last one's end.
    package var seconds = 0.0
    /// Seconds of processor time, without the load generator's.
    package var cpuSeconds = 0.0
    /// Seconds of processor time of the load generator.
    package var generatorSeconds = 0.0

    package init() {}

    package var rate: Double { seconds > 0 ? Double(requests) / seconds : 0 }

    /// The rate as it would be if the generator had run elsewhere: its processor time is taken off the time that the
    /// processors were there for. True where they were busy all the time.
    package func rateWithoutGenerator(processors: Double) -> Double {
        let left = seconds - generatorSeconds / max(processors, 1)
        return left > 0 ? Double(requests) / left : 0
    }

    package var cpuMicroseconds: Double { requests > 0 ? cpuSeconds * 1e6 / Double(requests) : 0 }

    /// The part of the processors' time that was used, by whomever of us.
    package func busy(processors: Double) -> Double {
        seconds > 0 ? (cpuSeconds + generatorSeconds) / (seconds * max(processors, 1)) : 0
    }
}
