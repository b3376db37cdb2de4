internal import FlowControl
internal import Observations
internal import SystemSupport
internal import Tokenizers

/// The text side of a model: from texts to vectors.
final class TextSide: Sendable {
    /// The network, which runs on tensors.
    let model: Model
    let form: TextForm
    /// The maximum number of ids of a text.
    let longest: Int
    /// The name of everything that vectors depend on, for the cache.
    let space: String
    private let tokenizer: Tokenizer
    private let padding: Padding?
    private let truncation: Truncation
    private let poolings: [TextPooling]
    private let normalization: EmbeddingNormalization

    /// The number of bytes of text that are divided into tokens on the calling thread: about 0.2 ms.
    private static let shortText = 2_048
    /// The maximum number of texts, and of ids, of one inference.
    private static let maximumTexts = 32, maximumIDs = 8_192

    init(_ model: Model, _ form: TextForm, _ source: TextSource, space: String) {
        self.model = model
        self.form = form
        self.space = space
        tokenizer = source.tokenizer
        longest = min(source.longest, form.fixedLength ?? source.longest)
        truncation = Truncation(maximumLength: longest, isLeft: source.tokenizer.truncation?.isLeft ?? false)
        let length = form.fixedLength ?? (source.texts.isFilled ? longest : nil)
        padding = length.map { Padding(length: $0, isLeft: false, id: source.paddingID) }
        poolings = source.texts.poolings
        normalization = source.texts.isNormalized ? .l2 : .none
    }

    /// The vectors of texts: known ones, or those of inferences.
    /// - Throws: `invalidInput` for a text that the tokenizer refuses, `invalidOutput`, and as for predictions.
    func embeddings(of texts: [String], options: PredictionOptions) async throws(InferenceError) -> TextEmbeddings {
        let keys = texts.map { TextCache.Key(space: space, text: $0) }
        var found: [TextCache.Key: TextEmbedding] = [:], missing: [TextCache.Key: Int] = [:], order: [Int] = []
        for (index, key) in keys.enumerated() where found[key] == nil && missing[key] == nil {
            if let known = TextCache.shared.embedding(key) {
                found[key] = known
            } else {
                missing[key] = index
                order.append(index)
            }
        }
        var times = StageTimes()
        if !order.isEmpty {
            let (made, spent) = try await embed(order.map { texts[$0] }, options)
            times = spent
            for (index, embedding) in zip(order, made) {
                found[keys[index]] = embedding
                TextCache.shared.keep(embedding, for: keys[index])
            }
        }
        return TextEmbeddings(embeddings: keys.compactMap { found[$0] }, times: times)
    }

    // MARK: Inferences

    /// Texts of one length, which run in one inference: none of them is padded, so that masks cannot matter.
    private struct Chunk: Sendable {
        /// The indices of the texts.
        var texts: [Int]
    }

    private func embed(
        _ texts: [String], _ options: PredictionOptions
    ) async throws(InferenceError) -> ([TextEmbedding], StageTimes) {
        let slot = try await model.admit(nil, options)
        var isHeld = true
        defer { if isHeld { slot.release() } }
        let start = MonotonicInstant.now
        let encodings = try await encodings(of: texts)
        var times = StageTimes()
        times.decode = MonotonicInstant.now.nanoseconds(since: start)
        let chunks = chunks(encodings)
        var vectors = [[Float]?](repeating: nil, count: texts.count)
        if chunks.count == 1 {
            let run = try await run(chunks[0], encodings, options, slot)
            for (text, vector) in zip(chunks[0].texts, run.vectors) { vectors[text] = vector }
            times.add(run.times)
            times.queue &+= run.times.queue
        } else {
            slot.release()
            isHeld = false
            for outcome in await runs(of: chunks, encodings, options) {
                let run = try outcome.result.get()
                for (text, vector) in zip(chunks[outcome.index].texts, run.vectors) { vectors[text] = vector }
                times.add(run.times)
                times.queue = max(times.queue, run.times.queue)
            }
        }
        let embeddings = zip(vectors, encodings).map { vector, encoding in
            TextEmbedding(
                vector: vector ?? [], tokens: encoding.tokenCount, isTruncated: encoding.isTruncated)
        }
        return (embeddings, times)
    }

    /// The ids of texts. Long texts are divided on another thread.
    private func encodings(of texts: [String]) async throws(InferenceError) -> [Encoding] {
        let work: @Sendable (@Sendable () -> Bool) -> Result<[Encoding], InferenceError> = { isCancelled in
            Result { () throws(InferenceError) in
                var encodings: [Encoding] = []
                for text in texts {
                    guard !isCancelled() else { throw .cancelled(stage: .decode) }
                    do throws(TokenizerProblem) {
                        encodings.append(
                            try self.tokenizer.encode(text, truncation: self.truncation, padding: self.padding))
                    } catch {
                        throw .invalidInput(
                            name: "text",
                            reason: "the tokenizer refuses \"\(text.prefix(60))\": \(error.message)")
                    }
                }
                return encodings
            }
        }
        if texts.reduce(0, { $0 + $1.utf8.count }) <= Self.shortText { return try work { Task.isCancelled }.get() }
        return try await LongDecoding.run(lowPriority: false) { work($0) }.get()
    }

    /// Divides the texts by their lengths.
    private func chunks(_ encodings: [Encoding]) -> [Chunk] {
        var chunks: [Chunk] = []
        for (length, texts) in Dictionary(grouping: encodings.indices, by: { encodings[$0].ids.count })
            .sorted(by: { $0.key < $1.key })
        {
            let size = form.fixedCount ?? max(1, min(Self.maximumTexts, Self.maximumIDs / max(1, length)))
            for start in stride(from: 0, to: texts.count, by: size) {
                chunks.append(Chunk(texts: Array(texts[start..<min(start + size, texts.count)])))
            }
        }
        return chunks
    }

    /// The vectors of a chunk.
    private struct Run: Sendable {
        let vectors: [[Float]]
        let times: StageTimes
    }

    private struct Outcome: Sendable {
        let index: Int
        let result: Result<Run, InferenceError>
    }

    /// Runs chunks in slots of their own, as many at a time as the engine runs; ends after a failure.
    private func runs(of chunks: [Chunk], _ encodings: [Encoding], _ options: PredictionOptions) async -> [Outcome] {
        await withTaskGroup(of: Outcome.self) { group in
            var outcomes: [Outcome] = []
            var next = 0
            func start() {
                let index = next
                next += 1
                group.addTask { await self.outcome(of: chunks[index], at: index, encodings, options) }
            }
            while next < min(chunks.count, max(1, model.instances)) { start() }
            while let outcome = await group.next() {
                outcomes.append(outcome)
                if case .failure = outcome.result { break }
                if next < chunks.count { start() }
            }
            group.cancelAll()
            return outcomes.sorted { first, second in
                // The failure, if there is one, comes first.
                if case .failure = first.result { true } else { false }
            }
        }
    }

    private func outcome(
        of chunk: Chunk, at index: Int, _ encodings: [Encoding], _ options: PredictionOptions
    ) async -> Outcome {
        do throws(InferenceError) {
            let slot = try await model.admit(nil, options)
            defer { slot.release() }
            return Outcome(index: index, result: .success(try await run(chunk, encodings, options, slot)))
        } catch {
            return Outcome(index: index, result: .failure(error))
        }
    }

    private func run(
        _ chunk: Chunk, _ encodings: [Encoding], _ options: PredictionOptions, _ slot: Slot
    ) async throws(InferenceError) -> Run {
        let texts = chunk.texts.map { encodings[$0] }
        let features = try features(texts)
        return try await model.tensors(from: features, options: options, slot: slot) {
            (views, times) throws(InferenceError) in
            guard views.indices.contains(form.output) else {
                throw .invalidOutput(name: "\(form.output)", reason: "is missing")
            }
            return Run(vectors: try vectors(of: texts, in: views[form.output]), times: times)
        }
    }

    private func features(_ texts: [Encoding]) throws(InferenceError) -> DictionaryFeatureProvider {
        let length = texts.first?.ids.count ?? 0
        // A file with a fixed number of texts gets the last one again.
        let count = max(texts.count, form.fixedCount ?? texts.count)
        let shape = Shape([count, length])
        var values: [(name: String, value: FeatureValue)] = []
        for input in form.inputs {
            var numbers: [Int64] = []
            numbers.reserveCapacity(count * length)
            for index in 0..<count {
                let text = texts[min(index, texts.count - 1)]
                switch input.role {
                case .ids: numbers += text.ids.map(Int64.init)
                case .mask: numbers += text.mask.map(Int64.init)
                case .types: numbers += text.typeIDs.map(Int64.init)
                case .positions: numbers += (0..<length).map(Int64.init)
                }
            }
            let array =
                input.elementType == .int32
                ? try BorrowedArray(
                    elementType: .int32, shape: shape, elements: numbers.map { Int32(truncatingIfNeeded: $0) })
                : try BorrowedArray(elementType: .int64, shape: shape, elements: numbers)
            values.append((input.name, .borrowedArray(array)))
        }
        return DictionaryFeatureProvider(values)
    }

    /// The vectors of texts in the engine's output: `[texts, width]`, or `[texts, tokens, width]`.
    private func vectors(of texts: [Encoding], in view: TensorView) throws(InferenceError) -> [[Float]] {
        let name = model.plan.outputs[form.output].description.name, shape = view.shape.dimensions
        let rank = form.isPooled ? 2 : 3, length = texts.first?.ids.count ?? 0
        guard shape.count == rank, shape[0] >= texts.count, let width = shape.last, width > 0,
            form.isPooled || shape[1] == length
        else {
            let expected = form.isPooled ? "[\(texts.count), width]" : "[\(texts.count), \(length), width]"
            throw .invalidOutput(name: name, reason: "expected the shape \(expected), found \(view.shape)")
        }
        let reader = ScoreReader(
            elementType: model.plan.outputs[form.output].description.elementType, linear: nil, activation: nil)
        let result: Result<[[Float]], InferenceError> = reader.withScores(view.bytes) { values in
            let size = form.isPooled ? width : length * width
            guard values.count >= texts.count * size else {
                return .failure(.invalidOutput(name: name, reason: "has \(values.count) numbers"))
            }
            var vectors: [[Float]] = []
            for (index, text) in texts.enumerated() {
                let own = UnsafeBufferPointer(rebasing: values[index * size..<(index + 1) * size])
                let mask = text.mask.map { $0 != 0 }
                let pooled =
                    form.isPooled ? Array(own) : poolings.flatMap { $0.pool(own, width: width, mask: mask) }
                guard let vector = pooled.withUnsafeBufferPointer(normalization.apply) else {
                    return .failure(.invalidOutput(name: name, reason: "a number of a text's vector is not finite"))
                }
                vectors.append(vector)
            }
            return .success(vectors)
        }
        return try result.get()
    }
}
