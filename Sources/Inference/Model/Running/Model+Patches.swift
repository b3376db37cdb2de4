internal import FlowControl
internal import FoundationEssentials
internal import Observations
internal import SystemSupport
package import Teaching

/// Answers of taught models that compare the patches of a picture with those of normal ones.
extension Model {
    /// The grid of patches, if an embedding comes with their vectors; nil for an embedding of one vector.
    /// - Throws: `unsupported` if the output has several vectors, and nothing says which are those of patches.
    package func patchGrid() throws(InferenceError) -> PatchGrid? {
        let plan = observations.first { $0.output.task == .embed }
        let reason: String
        switch plan?.patches {
        case .single?, nil: return nil
        case .patches(let reader)?:
            if let grid = PatchGrid(rows: reader.rows, columns: reader.columns, width: reader.width) { return grid }
            reason = "has more patches than can be compared: \(reader.rows) x \(reader.columns) of \(reader.width)"
        case .unclear(let vectors)?:
            reason =
                "gives \(vectors) vectors in its output \"\(plan?.output.name ?? "")\", and nothing says which are those of "
                + "patches: set \"patches\" of this output in model.json, {\"skip\": the number of leading tokens that are no "
                + "patches, \"rows\": the number of rows of the grid}"
        }
        throw .unsupported(model: description.name, reason: reason)
    }

    /// The head of a request if it compares patches.
    /// - Parameter head: taught classes that replace the model's own.
    func patchHead(_ head: TaughtClassifier?) -> TaughtClassifier? {
        guard let head = head ?? taughtClassifier, head.normal?.patches != nil else { return nil }
        return head
    }

    /// The answers for several pictures in one inference; see ``classifications(of:top:threshold:options:slot:head:)``.
    func classifications(
        of images: [EncodedImage], byPatches head: TaughtClassifier, options: PredictionOptions, slot: Slot
    ) async -> [Result<ClassificationResult, InferenceError>] {
        var request = ObservationRequest(task: .embed)
        request.readsPatches = true
        let results = await observations(of: images, request: request, options: options, slot: slot)
        var answers: [Result<ClassificationResult, InferenceError>] = []
        for result in results {
            do throws(InferenceError) {
                answers.append(.success(try await answer(of: head, to: try result.get(), options)))
            } catch {
                answers.append(.failure(error))
            }
        }
        return answers
    }

    /// Compares a picture's patches, after its infer request has been released.
    private func answer(
        of head: TaughtClassifier, to result: ObservationResult, _ options: PredictionOptions
    ) async throws(InferenceError) -> ClassificationResult {
        let start = MonotonicInstant.now
        guard let picture = result.patches, let normal = head.normal?.patches,
            let query = PatchQuery(picture.vectors, among: normal)
        else {
            let reason = "its patches are not those that the normal pictures were taught with"
            throw .engine(EngineError(kind: .failure, operation: "compare patches", detail: reason))
        }
        let distances = PatchQuery.distances(try await Self.nearest(query, options))
        guard let answer = head.answer(patchDistances: distances), let anomaly = answer.anomaly else {
            throw .engine(EngineError(kind: .failure, operation: "compare patches", detail: "there are none"))
        }
        var times = result.times
        times.postprocess &+= MonotonicInstant.now.nanoseconds(since: start)
        let map = AnomalyMap(
            rows: normal.grid.rows, columns: normal.grid.columns, distances: distances, area: picture.area)
        return ClassificationResult(
            classifications: [
                Classification(index: 0, label: head.labels.first ?? "", confidence: answer.confidences.first ?? 1)
            ],
            image: result.image, times: times,
            taught: TaughtMark(
                distance: answer.distance, isKnown: answer.isKnown,
                anomaly: AnomalyMark(
                    score: anomaly.score, threshold: anomaly.threshold, p: anomaly.p, isAnomaly: anomaly.isAnomaly,
                    map: map)))
    }

    /// The number of products that one thread computes, at least: about 10 ms.
    private static let shareOfWork = 50_000_000
    private static let maximumShares = min(4, ProcessInfo.processInfo.activeProcessorCount)

    /// Compares with all normal patches, many of them in several threads.
    private static func nearest(
        _ query: PatchQuery, _ options: PredictionOptions
    ) async throws(InferenceError) -> [PatchQuery.Share] {
        let shares = max(1, min(maximumShares, query.work / shareOfWork)), deadline = options.deadline
        return try await Parallel.results(shares, width: shares) { (share) throws(InferenceError) in
            let found = await LongDecoding.run(lowPriority: false) { isCancelled in
                query.nearest(inShare: share, of: shares) { isCancelled() || deadline.hasPassed }
            }
            guard let found else { throw .stopped(at: .postprocess) }
            return found
        }
    }
}
