internal import FlowControl
package import Rollout
internal import Synchronization
internal import SystemSupport

extension Model {
    /// The most pictures that are named in a report of goldens that differ.
    private static let mostTold = 3
    /// The most that is kept of the goldens for the canary: pictures, and bytes in total.
    private static let mostKept = 16, mostKeptBytes = 4 << 20

    /// Compares the answers of a pipeline, which has no model file, with the goldens of its bundle, if it has any.
    /// - Parameter agreement: what model.json says; nil if it says nothing of goldens.
    func checkGoldens(_ agreement: Double?) async throws(InferenceError) {
        let (goldens, mistakes) = await LoaderThread.run { [path] in
            let problems = ProblemList()
            return (GoldenSet(bundle: path, agreement: agreement, problems: problems), problems.problems)
        }
        guard mistakes.isEmpty else { throw .invalidBundle(name: description.name, problems: mistakes) }
        if let goldens { try await check(goldens) }
    }

    /// Asks the model for its answers to the goldens, as many at once as there are infer requests. For a model that
    /// does not serve yet.
    /// - Throws: where fewer agree than must, with the summary.
    func check(_ set: GoldenSet) async throws(InferenceError) {
        let start = MonotonicInstant.now
        let found = await outcomes(of: set.goldens)
        let agreed = found.count { $0 == nil }
        let differences = zip(set.goldens, found).lazy.compactMap { golden, reason in
            reason.map { "\(golden.name): \($0)" }
        }
        let report = GoldenReport(
            compared: found.count, agreed: agreed, differences: Array(differences.prefix(Self.mostTold)))
        // A share of 0.95 of 20 is 19, whatever the last bit says.
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
        // These were no predictions of clients.
        counted.withLock { $0 = ModelStatistics() }
    }

    /// The difference of each golden's answer, in order; nil where it agrees.
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
        // The picture's fault is what a line with an error expects.
        if case .image? = error, case .failure(let code, _) = expected {
            return .failure(code: code, message: error?.message ?? "")
        }
        return answer
    }

    /// The answer to a picture in the form in which answers are compared.
    /// - Parameter task: nil for classification.
    /// - Returns: the answer, nanoseconds of the inference, and the error that the answer is, if it is one.
    package func comparableAnswer(
        of image: EncodedImage, task: ObservationTask?, options: PredictionOptions = PredictionOptions()
    ) async -> (answer: ComparableAnswer, inference: UInt64, error: InferenceError?) {
        do throws(InferenceError) {
            guard let task else {
                // As many classes as most requests ask for: the first one decides.
                let labels = description.classLabels?.count ?? 1
                let result = try await classification(of: image, top: min(5, max(1, labels)), options: options)
                return (ComparableAnswer(result), result.times.inference, nil)
            }
            let result = try await observations(of: image, request: ObservationRequest(task: task), options: options)
            return (ComparableAnswer(result), result.times.inference, nil)
        } catch {
            let code = error.isOfTheMoment ? Self.busy : "internal"
            return (.failure(code: code, message: error.message), 0, error)
        }
    }

    /// The code of an answer that did not come in time.
    private static let busy = "overloaded"

    /// The request of a golden; nil for classification.
    private func task(of expected: ComparableAnswer) -> ObservationTask? {
        switch expected {
        case .classes, .values: nil
        case .boxes: .detect
        case .segments: .segment
        case .points: .keypoints
        case .embedding: .embed
        case .failure: isImageClassifier ? nil : tasks.first
        }
    }

    /// The first pictures, as many as there is room for. Blocks.
    private static func kept(_ goldens: [Golden]) -> [GoldenPicture] {
        var kept: [GoldenPicture] = [], bytes = 0
        for golden in goldens.prefix(mostKept) {
            guard case .success(let picture) = golden.read() else { continue }
            bytes += picture.bytes.count
            guard bytes <= mostKeptBytes else { break }
            kept.append(picture)
        }
        return kept
    }

    /// Compares the answer to one of the goldens that agreed at the load, each in its turn. Does nothing while the
    /// model is busy, or if it has none.
    /// - Returns: how the answer differs; nil if it agrees, or there was none in time.
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
        // Who is too busy to answer in time is not wrong.
        if case .failure(Self.busy, _) = answer { return nil }
        return Agreement(expected: picture.golden.expected, found: answer).reason.map {
            "\(picture.golden.name): \($0)"
        }
    }
}

/// A golden with its picture's bytes.
struct GoldenPicture: Sendable {
    let golden: Golden
    let bytes: [UInt8]
}

extension Golden {
    /// Reads the picture. Blocks.
    fileprivate func read() -> Result<GoldenPicture, BundleFile.Problem> {
        switch BundleFile.read(path, most: GoldenSet.largestPicture) {
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
    /// True if it says nothing of the model or the picture: there was no slot, no time, or no wish.
    package var isOfTheMoment: Bool {
        switch self {
        case .refused, .deadlineExceeded, .cancelled: true
        default: false
        }
    }
}
