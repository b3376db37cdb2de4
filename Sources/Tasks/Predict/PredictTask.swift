package import FlowControl
package import HTTPServer
internal import HTTPWire
internal import ImagePipeline
package import Inference
package import JSON
internal import Rollout
internal import ServiceCore
package import Settings
package import WireFormats

/// `POST /v1/models/{name}/predict`: runs any model, as described by its `model.json`.
package struct PredictTask: PredictionTask {
    private let run: RunRequest
    private let settings: Settings
    private let writer: OutputWriter
    /// True if a prediction runs; false for `explain`, which needs only the picture among the inputs.
    private let runs: Bool
    package let isNegotiated: Bool
    /// The form of the answer if it is the model's only output picture, as a file.
    package let form: BinaryForm?

    package static var itemKind: ItemKind { .inputs }
    package static var takesInputs: Bool { true }

    package init(
        _ run: RunRequest, _ query: ClassifyQuery, of request: HTTPRequest, settings: Settings
    ) throws(ServiceError) {
        try run.model.refusePipeline(run.name)
        let description = run.model.description
        let classes = description.outputs.compactMap { $0.labels?.count }.max()
        if query.top != nil || query.threshold != nil, classes == nil {
            throw .badRequest("\"top\" and \"threshold\" are for labelled outputs: model \"\(run.name)\" has none")
        }
        if let top = query.top, let classes, top > classes {
            throw .badRequest(
                "query parameter \"top\": expected a whole number from 1 to \(classes) (the labels of \"\(run.name)\"), "
                    + "found \"\(top)\"")
        }
        self.run = run
        self.settings = settings
        runs = query.picture.explain == nil
        writer = OutputWriter(
            outputs: description.outputs, top: query.top, threshold: query.threshold, scoreWatch: run.model.scoreWatch)
        isNegotiated = description.outputs.count { $0.kind == .image } == 1
        form = isNegotiated && request.accepts("image/png") ? BinaryForm(type: "image/png", joins: false) : nil
    }

    // MARK: Inputs

    package func item(_ image: EncodedImage, found: String) throws(ServiceError) -> DictionaryFeatureProvider {
        if let input = run.model.description.imageInput { return [input.name: .image(image)] }
        let names = run.model.description.inputs.map { "\"\($0.name)\"" }.joined(separator: ", ")
        throw .invalidInput(
            "expected JSON, {\"inputs\": {\"NAME\": VALUE}} with \(names): the model does not take one picture; found \(found)"
        )
    }

    package func pictures(of item: DictionaryFeatureProvider) -> [ItemPicture] {
        item.featureNames.compactMap { name in
            guard case .image(let image)? = item.featureValue(for: name) else { return nil }
            return ItemPicture(input: name, image: image)
        }
    }

    package func pictureTime(of item: DictionaryFeatureProvider) -> UInt64 { run.model.pictureTime(of: item) }

    package func reader(of request: HTTPRequest, _ form: FormParts?) -> BodyReader<DictionaryFeatureProvider>? {
        let body = request.body, inputs = run.model.description.inputs, settings = settings, runs = runs
        if let form {
            guard let parts = form.item else { return nil }
            return BodyReader { () throws(ServiceError) in
                .init(items: [try FormItem(body: body, inputs: inputs, isWhole: runs).read(parts)], isList: false)
            }
        }
        guard Self.isJSON(body, type: request.head.value(of: "content-type") ?? "") else { return nil }
        return BodyReader { () throws(ServiceError) in
            do throws(JSONError) {
                let read = try body.withUnsafeBytes { (bytes) throws(JSONError) in
                    try PredictBody(bytes, inputs: inputs, isWhole: runs, settings: settings)
                }
                return .init(items: read.items, isList: read.isBatch)
            } catch {
                throw ServiceError(error)
            }
        }
    }

    /// True if a body is JSON. The client's type decides if it names JSON or a picture; otherwise the first byte does,
    /// because curl labels everything as a form.
    package static func isJSON(_ body: HTTPBody, type: String) -> Bool {
        let type = type.lowercased()
        if type.hasPrefix("application/json") { return true }
        if type.hasPrefix("image/") { return false }
        return body.withUnsafeBytes { bytes in
            let start = bytes.prefix(longestSpace)
            guard let first = start.first(where: { !" \t\r\n".utf8.contains($0) }) else {
                // No picture begins with that much space; the JSON reader reports the error.
                return start.count < bytes.count
            }
            // No picture format begins with one of these.
            return "{[\"-0123456789tfnN".utf8.contains(first) || bytes.starts(with: [0xEF, 0xBB, 0xBF])
        }
    }

    /// The space at the beginning of a body that is skipped to find its first byte.
    private static let longestSpace = 4096

    // MARK: Outputs

    package func predict(
        _ items: [DictionaryFeatureProvider], in slot: Slot
    ) async -> [Result<Prediction, InferenceError>] {
        await run.model.predictions(of: items, options: run.options, slot: slot)
    }

    package func shadow(of item: DictionaryFeatureProvider, _ prediction: Prediction) -> ShadowWork? {
        ShadowWork(
            times: prediction.times, image: pictures(of: item).first?.image, answer: { ComparableAnswer(prediction) }
        ) { [run] (model, sample, deadline, slot) in
            let options = run.options(for: sample, deadline: deadline)
            return Result(await model.predictions(of: [item], options: options, slot: slot).first)
        }
    }

    package func writingTime(of prediction: Prediction) -> UInt64 {
        prediction.featureNames.reduce(0) { $0 &+ Self.writingTime(of: prediction.featureValue(for: $1)) }
    }

    private static func writingTime(of value: FeatureValue?) -> UInt64 {
        switch value {
        case .dictionary(let entries): WorkQueue.writingTime(labels: entries.count)
        case .multiArray(let array): WorkQueue.writingTime(numbers: array.count)
        case .strings(let array): WorkQueue.writingTime(labels: array.elements.count)
        case .sequence(let elements): elements.reduce(0) { $0 &+ writingTime(of: $1) }
        case .image(let image): image.withUnsafeBytes { UInt64($0.count) }
        case .lentArray, .int64, .double, .string, nil: 0
        }
    }

    /// Writes the members `outputs`, `image` and `timing_ms`.
    package func write(
        _ prediction: Prediction, total: UInt64, isCancelled: @escaping () -> Bool, to writer: inout JSONWriter
    ) {
        writer.key("outputs")
        self.writer.write(prediction, to: &writer)
        if let image = prediction.image {
            writer.key("image")
            writer.object { ClassificationWriter.write(image, to: &$0) }
        }
        writer.key("timing_ms")
        ClassificationWriter.write(prediction.times, total: total, to: &writer)
    }

    /// The bytes of a prediction's only picture.
    package func bytes(of prediction: Prediction, isCancelled: @escaping () -> Bool) -> [UInt8]? {
        for name in prediction.featureNames {
            if case .image(let image)? = prediction.featureValue(for: name) {
                return image.withUnsafeBytes { [UInt8]($0) }
            }
        }
        return nil
    }
}
