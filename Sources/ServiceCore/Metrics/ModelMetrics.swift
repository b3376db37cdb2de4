import Inference

/// The counts of one model, for all versions together.
package final class ModelMetrics: Sendable {
    /// The histogram of each stage, then each counter: one request's counters share few cache lines.
    private let numbers = StripedCounters(firstCounter + Counter.allCases.count)
    private static let firstCounter = Stage.allCases.count * Histogram.size

    package enum Counter: Int, CaseIterable {
        case pictures, detections, lines
        case loadsUncached, loadsCached, loadUncachedNanoseconds, loadCachedNanoseconds
        case loadFailures, goldensFailed, unloads
        case skipped, linesSkipped
    }

    /// The stages of a pipeline, by name; empty for a model.
    package let pipelineStages = LabelledList(maximum: 64) { PipelineStage() }

    /// The pictures that were kept, by reason.
    let kept = LabelledList(["disagree", "uncertain", "unknown"], maximum: 8) { AtomicCounters(1) }

    /// The counts of one stage of a pipeline.
    package final class PipelineStage: Sendable {
        /// The time from the begin of a picture's first crop to the end of its last.
        package let duration = Histogram()
        fileprivate let counters = StripedCounters(2)
        /// The number of crops, and of those that failed.
        package var crops: UInt64 { counters[0] }
        package var failures: UInt64 { counters[1] }
    }

    /// Counts a pipeline's work on one picture.
    func record(_ note: PipelineNote) {
        add(.skipped, UInt64(clamping: note.skipped))
        for stage in note.stages {
            let metrics = pipelineStages[stage.name]
            metrics.duration.record(stage.nanoseconds)
            metrics.counters.add(UInt64(clamping: stage.crops), at: 0)
            metrics.counters.add(UInt64(clamping: stage.failures), at: 1)
        }
    }

    /// The time of each stage of a reader for one picture; empty for other models.
    package let readerStages = LabelledList(maximum: 8) { Histogram() }

    /// Counts a reader's work on one picture.
    func record(_ stages: [StageTimes.Stage], skipped: Int) {
        add(.linesSkipped, UInt64(clamping: skipped))
        for stage in stages { readerStages[stage.name].record(stage.nanoseconds) }
    }

    func add(_ counter: Counter, _ amount: UInt64 = 1) { numbers.add(amount, at: Self.firstCounter + counter.rawValue) }
    package subscript(counter: Counter) -> UInt64 { numbers[Self.firstCounter + counter.rawValue] }

    package subscript(stage: Stage) -> Histogram { Histogram(numbers, at: stage.rawValue * Histogram.size) }

    /// Counts a successful load.
    func loaded(cached: Bool, nanoseconds: UInt64) {
        add(cached ? .loadsCached : .loadsUncached)
        add(cached ? .loadCachedNanoseconds : .loadUncachedNanoseconds, nanoseconds)
    }
}

/// The stages of a classified picture, in order: those of `Server-Timing`, and their total.
package enum Stage: Int, Sendable, CaseIterable {
    case recv, load, queue, decode, infer, postprocess, encode, total

    /// The value of the label `stage`.
    var name: String { "\(self)" }
}
