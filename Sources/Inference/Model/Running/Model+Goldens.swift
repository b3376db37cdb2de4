internal import FlowControl
package import Rollout
internal import Synchronization
internal import SystemSupport

extension Model {
    /// The maximum number of pictures that a report of differing goldens names.
    private static let maximumReported = 3
    /// The maximum of the goldens that are kept for the canary: the number of pictures, and their bytes in total.
    private static let maximumKept = 16, maximumKeptBytes = 4 << 20

    /// Compares the model's answers with the goldens, as many at once as it has infer requests. For a model that does
    /// not serve yet.
    /// - Throws: if fewer agree than required, with the summary.
    func check(_ set: GoldenSet) async throws(InferenceError) {
        let start = MonotonicInstant.now
        let found = await outcomes(of: set.goldens)
        let agreed = found.count { $0 == nil }
        let differences = zip(set.goldens, found).lazy.compactMap { golden, reason in
            reason.map { "\(golden.name): \($0)" }
        }
        let report = GoldenReport(
            compared: found.count, agreed: agreed, differences: Array(differences.prefix(Self.maximumReported)))
        // 0.95 of 20 must be 19, regardless of rounding errors.
        if Double(agreed) + 1e-9 < set.agreement * Double(found.count) {
            let allowed = Int((1 - set.agreement) * Double(found.count) + 1e-9)
            let reason = (report.summary ?? "") + (allowed > 0 ? " (golden.agreement allows \(allowed))" : "")
            var problem = BundleProblem(path: "", reason: reason)
            problem.isOfGoldens = true
            throw .invalidBundle(name: description.name, problems: [problem])
        }
        let agreeing = zip(set.goldens, found).filter { $0.1 == nil }.map(\.0)
        let kept = await LoaderThread.run { Self.kept(agreeing) }
        goldens.withLock { $0 = kept[...] }
        load.withLock {
            $0.goldens = report
            $0.comparison &+= MonotonicInstant.now.nanoseconds(since: start)
        }
        // These predictions were not requests of clients.
        counted.withLock { $0 = ModelStatistics() }
    }

    /// The difference of each golden's answer, in order; nil if it agrees.
    private func outcomes(of goldens: [Golden]) async -> [String?] {
        await withTaskGroup(of: (Int, String?).self) { group in
            var outcomes = [String?](repeating: nil, count: goldens.count)
            var next = 0
            func add() {
                guard next < goldens.count else { return }
                let index = next
                next += 1
                group.addTask { (index, await self.difference(of: goldens[index])) }
            }
            for _ in 0..<max(1, instances) { add() }
            while let (index, outcome) = await group.next() {
                outcomes[index] = outcome
                add()
            }
            return outcomes
        }
    }

    private func difference(of golden: Golden) async -> String? {
        let read = await LoaderThread.run { golden.read() }
        switch read {
        case .success(let picture): return await difference(of: picture, options: PredictionOptions())
        case .failure(let problem): return problem.reason
        }
    }

    /// The difference of the answer to a picture from the expected one; nil if it agrees.
    private func difference(of picture: GoldenPicture, options: PredictionOptions) async -> String? {
        let answer = await answer(to: picture, options: options)
        return Agreement(expected: picture.golden.expected, found: answer).reason
    }

    private func answer(to picture: GoldenPicture, options: PredictionOptions) async -> ComparableAnswer {
        let expected = picture.golden.expected
        let (answer, _, error) = await comparableAnswer(
            of: EncodedImage(picture.bytes), task: task(of: expected), options: options)
        // An expected answer with an error means an error of the picture.
        if case .image? = error, case .failure(let code, _) = expected {
            return .failure(code: code, message: error?.message ?? "")
        }
        return answer
    }

    /// The answer to a picture in the form in which answers are compared.
    /// - Parameter task: nil for classification.
    /// - Returns: the answer, the nanoseconds of the inference, and the error if the prediction failed.
    package func comparableAnswer(
        of image: EncodedImage, task: ObservationTask?, options: PredictionOptions = PredictionOptions()
    ) async -> (answer: ComparableAnswer, inference: UInt64, error: InferenceError?) {
        do throws(InferenceError) {
            guard let task else {
                // As many classes as most requests get; the comparison is decided by the first one.
                let labels = description.classLabels?.count ?? 1
                let result = try await classification(of: image, top: min(5, max(1, labels)), options: options)
                return (ComparableAnswer(result), result.times.inference, nil)
            }
            let result = try await observations(of: image, request: ObservationRequest(task: task), options: options)
            return (ComparableAnswer(result), result.times.inference, nil)
        } catch {
            return (.failure(code: Self.code(of: error), message: error.message), 0, error)
        }
    }

    /// The error code of an answer, as the service gives it where answers are compared.
    private static func code(of error: InferenceError) -> String {
        if case .invalidOutput = error { return "engine_output_invalid" }
        return error.isTemporary ? busy : "internal"
    }

    /// The error code of an answer that was refused, cancelled or late.
    private static let busy = "overloaded"

    /// The task of a golden's request; nil for classification.
    private func task(of expected: ComparableAnswer) -> ObservationTask? {
        switch expected {
        case .classes, .values: nil
        case .boxes: .detect
        case .segments: .segment
        case .points: .keypoints
        case .embedding: .embed
        case .text: .read
        case .failure: isImageClassifier ? nil : tasks.first
        }
    }

    /// The first pictures, within the limits on their number and bytes. Blocks.
    private static func kept(_ goldens: [Golden]) -> [GoldenPicture] {
        var kept: [GoldenPicture] = [], bytes = 0
        for golden in goldens.prefix(maximumKept) {
            guard case .success(let picture) = golden.read() else { continue }
            bytes += picture.bytes.count
            guard bytes <= maximumKeptBytes else { break }
            kept.append(picture)
        }
        return kept
    }

    /// Compares the answer to one of the goldens that agreed at the load; successive calls take them in turn. Does
    /// nothing while the model is busy, or if it has no goldens.
    /// - Returns: the difference; nil if the answer agrees, or was not given in time.
    package func goldenCanary() async -> String? {
        let state = limiter.snapshot
        guard state.waiting == 0, state.inFlight < state.limit else { return nil }
        let picture = goldens.withLock { goldens -> GoldenPicture? in
            guard let first = goldens.popFirst() else { return nil }
            goldens = (Array(goldens) + [first])[...]
            return first
        }
        guard let picture else { return nil }
        var options = PredictionOptions()
        options.deadline = .now + .seconds(5)
        let answer = await answer(to: picture, options: options)
        // A busy model that does not answer in time is not wrong.
        if case .failure(Self.busy, _) = answer { return nil }
        return Agreement(expected: picture.golden.expected, found: answer).reason.map {
            "\(picture.golden.name): \($0)"
        }
    }
}

/// A golden with the bytes of its picture.
struct GoldenPicture: Sendable {
    let golden: Golden
    let bytes: [UInt8]
}

extension Golden {
    /// Reads the picture. Blocks.
    fileprivate func read() -> Result<GoldenPicture, BundleFile.Problem> {
        switch BundleFile.read(path, maximum: GoldenSet.largestPicture) {
        case .failure(let problem): return .failure(problem)
        case .success(let data):
            let bytes = [UInt8](data)
            if let digest, SHA256.text(SHA256.digest(bytes)) != digest.lowercased() {
                return .failure(BundleFile.Problem(reason: "is not the picture that was answered: its digest differs"))
            }
            return .success(GoldenPicture(golden: self, bytes: bytes))
        }
    }
}

extension InferenceError {
    /// True if the error gives no information about the model or the picture: the request was refused, late or
    /// cancelled.
    package var isTemporary: Bool {
        switch self {
        case .refused, .deadlineExceeded, .cancelled: true
        default: false
        }
    }
}
