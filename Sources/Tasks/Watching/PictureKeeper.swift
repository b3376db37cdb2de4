package import FlowControl
package import Inference
internal import ImagePipeline
package import Keeping
package import ServiceCore
package import Settings
internal import Synchronization
package import SystemSupport
package import Teaching
internal import WireFormats

/// Keeps the pictures of uncertain answers, by the rules of the settings. Thread-safe; no report waits for the disk.
package final class PictureKeeper: AnswerWatcher {
    private let store: KeptStore
    private let margin: Mutex<Double>
    /// True for the name of a taught model.
    private let isTaught: @Sendable (String) -> Bool
    /// The turns of requests that read or delete files.
    private let turns = InFlightLimiter(configuration: LimiterConfiguration(limit: 4))

    /// The size up to which copying a picture takes less time than starting a thread for it.
    private static let shortCopy = 64 << 10

    package init(_ store: KeptStore, settings: Settings, isTaught: @escaping @Sendable (String) -> Bool) {
        self.store = store
        self.isTaught = isTaught
        margin = Mutex(settings.keepMargin)
    }

    /// Applies other settings to answers from now on.
    package func use(_ settings: Settings) {
        margin.withLock { $0 = settings.keepMargin }
        store.use(KeptShelf.Limits(settings))
    }

    // MARK: Answers

    package func watches(_ model: Model, named name: String) -> Bool {
        model.pipeline == nil && (model.isImageClassifier || isTaught(name))
    }

    package func answered(_ report: AnswerReport) {
        guard report.mayKeep, case .classes(let result) = report.outcome else { return }
        let reasons = Self.reasons(result, margin: margin.withLock { $0 })
        offer(report.image, model: report.model, version: report.version, reasons: reasons)
    }

    /// The reasons to keep the picture of an answer; empty for none.
    static func reasons(_ result: ClassificationResult, margin: Double) -> Set<KeptReason> {
        var reasons: Set<KeptReason> = []
        if result.abstain == true { reasons.insert(.uncertain) }
        if let certainty = result.certainty, certainty.count > 1, Double(certainty.margin) < margin {
            reasons.insert(.uncertain)
        }
        if result.taught?.isKnown == false { reasons.insert(.unknown) }
        return reasons
    }

    /// Offers a picture; does nothing without a reason.
    /// - Parameter version: the version that answered.
    package func offer(_ image: EncodedImage, model: String, version: String, reasons: Set<KeptReason>) {
        guard !reasons.isEmpty, image.byteCount > 0 else { return }
        let offer = KeepingOffer(model: model, version: version, reasons: reasons, byteCount: image.byteCount) {
            Self.content(image)
        }
        guard let copy = store.offer(offer) else { return }
        // The picture holds the memory of its request's body until it is copied.
        guard image.byteCount > Self.shortCopy else { return copy() }
        Task.detached(priority: .utility) { await LongDecoding.run { _ in copy() } }
    }

    /// The bytes of a picture as they were sent, and their type; nil if they are no picture's.
    private static func content(_ image: EncodedImage) -> KeepingOffer.Content? {
        image.withUnsafeBytes { bytes in
            switch image.frame {
            case .success(let frame)?: KeepingOffer.Content(bytes: Array(bytes), type: frame.described)
            case .failure?: nil
            case nil:
                ImagePipeline.format(of: bytes).map {
                    KeepingOffer.Content(bytes: Array(bytes), type: $0.mediaType)
                }
            }
        }
    }

    // MARK: Kept pictures

    /// The kept pictures, as they are now.
    package var shelf: KeptShelf { store.shelf }

    package var usage: KeptUsage {
        let usage = store.usage
        return KeptUsage(pictures: usage.pictures, bytes: usage.bytes)
    }

    /// Reads or deletes files on a thread that may block, in the client's turn.
    package func inTurn<Value: Sendable>(
        deadline: MonotonicInstant, claim: Claim, _ body: @escaping @Sendable (KeptStore) -> Value
    ) async throws(AdmissionError) -> Value {
        let slot = try await turns.acquire(deadline: deadline, claim: claim)
        defer { slot.release() }
        return await LoaderThread.run { [store] in body(store) }
    }

    /// Deletes the kept pictures of examples that will be forgotten. Blocks.
    package func forget(_ ids: [ExampleID]) throws(TeachingError) {
        do throws(KeepingError) {
            try store.remove(ids.map(\.description))
        } catch {
            throw .storage("the kept pictures cannot be deleted, and nothing is forgotten: \(error.message)")
        }
    }

    /// Deletes the kept pictures of an example that will be forgotten, if the taught model has it. Blocks.
    package func forget(_ id: ExampleID, of model: TaughtModel) throws(TeachingError) {
        if model.view.state.example(id) != nil { try forget([id]) }
    }

    /// Deletes the kept pictures of the examples of a class that will be forgotten. Blocks.
    package func forget(label: String, of model: TaughtModel) throws(TeachingError) {
        try forget(model.view.state.examples.filter { $0.label == label }.map(\.id))
    }

    /// Deletes the kept pictures of all examples of a taught model that will be deleted. Blocks.
    package func forget(_ model: TaughtModel) throws(TeachingError) {
        try forget(model.view.state.examples.map(\.id))
    }
}

extension KeptShelf.Limits {
    /// The limits in the settings.
    package init(_ settings: Settings) {
        self.init(bytes: settings.keepBytes, days: settings.keepDays, rate: settings.keepRate)
    }
}

/// Counts and logs what happens to kept pictures. Thread-safe.
package final class KeepingReport: Sendable {
    private let metrics: ServiceMetrics
    private let log: Log
    /// True if the log has said that pictures cannot be written, and none was since.
    private let isStuck = Atomic(false)

    package init(metrics: ServiceMetrics, log: Log) {
        self.metrics = metrics
        self.log = log
    }

    package func note(_ event: KeepingEvent) {
        switch event {
        case .kept(let picture, let reasons):
            for reason in reasons { metrics.kept(model: picture.model, why: reason.rawValue) }
            if isStuck.exchange(false, ordering: .relaxed) { log.notice("pictures are kept again") }
        case .dropped(let refusal, let error):
            metrics.notKept(refusal.rawValue)
            guard let error, !isStuck.exchange(true, ordering: .relaxed) else { return }
            log.warning("pictures are not kept: \(error.message)")
        case .notice(let text): log.warning(text)
        }
    }
}
