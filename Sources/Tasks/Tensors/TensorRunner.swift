internal import FlowControl
package import HTTPServer
package import Inference
internal import ServiceCore
package import SystemSupport
package import WireFormats

/// Answers requests in formats that have the engine's own tensors as inputs and outputs. A format is a reader of
/// bodies, which also gives the writer of the answer.
package enum TensorRunner {
    /// Answers a request.
    /// - Parameters:
    ///   - length: the number of bytes to read.
    ///   - read: reads the body; its argument returns true once the client has disconnected.
    package static func answer(
        _ request: HTTPRequest, _ call: Call, _ choice: ModelChoice, length: Int,
        read: @escaping @Sendable (Model, _ isCancelled: @Sendable () -> Bool) throws(ServiceError) -> TensorQuestion
    ) async throws(ServiceError) -> HTTPResponse {
        var options = PredictionOptions()
        options.claim = choice.claim
        options.deadline = call.deadline(of: request)
        options.keeps = choice.route?.sample
        let (model, wait) = try await choice.model(in: call.parts.repository, deadline: options.deadline)
        options.loadWait = wait
        try model.refusePipeline(choice.name)
        let slots = SlotRunner(model: model, options: options, metrics: call.parts.metrics)
        return try await slots.answer(length: length, read: read) {
            [options] (question, taken) async throws(ServiceError) in
            var options = options
            if let deadline = question.deadline { options.deadline = deadline }
            let run = ModelRequest(request, model: model, name: choice.name, options: options, shadow: choice.route)
            let format = TensorFormat(question: question, run: run, parts: call.parts)
            return try await format.slots.answer(question.items, taken: taken, as: format)
        }
    }
}

/// The predictions that a body asks for, and the writer of their answer.
package struct TensorQuestion: Sendable {
    /// Writes the answer from the outputs of all items.
    /// - Parameter shadow: the question to another version; nil for none.
    package typealias Writer =
        @Sendable (
            _ outputs: [TensorOutputs], _ run: ModelRequest, _ shadow: ShadowWork?
        ) throws(ServiceError) -> HTTPResponse

    /// The inputs of each prediction.
    let items: [DictionaryFeatureProvider]
    /// The name of an item in errors, with `#` for its number.
    let itemName: String
    /// The deadline that the body gives; nil for the usual one.
    let deadline: MonotonicInstant?
    /// Writes the answer of a single item in the engine's memory; nil if the outputs must be copied first.
    let copy: (@Sendable ([TensorView]) -> HTTPResponse)?
    let write: Writer

    package init(
        items: [DictionaryFeatureProvider], itemName: String, deadline: MonotonicInstant? = nil,
        copy: (@Sendable ([TensorView]) -> HTTPResponse)? = nil, write: @escaping Writer
    ) {
        self.items = items
        self.itemName = itemName
        self.deadline = deadline
        self.copy = copy
        self.write = write
    }
}

/// The outputs of one item.
package struct TensorOutputs: Sendable {
    package let times: StageTimes
    package let copied: CopiedOutputs
    /// The answer, if it was written in the engine's memory.
    let response: HTTPResponse?
    /// The question to another version; nil for none.
    var shadow: ShadowWork?
}

/// Runs the items of a question, and has their outputs written.
struct TensorFormat: AnswerFormat {
    let question: TensorQuestion
    let run: ModelRequest
    let parts: ServiceParts

    var slots: SlotRunner { SlotRunner(model: run.model, options: run.options, metrics: parts.metrics) }
    var failsAsAWhole: Bool { true }

    func pictureTime(of item: DictionaryFeatureProvider) -> UInt64 { run.model.pictureTime(of: item) }

    func parts(
        for items: [DictionaryFeatureProvider], in slot: Slot, isList: Bool
    ) async -> [Result<TensorOutputs, ServiceError>] {
        let copy = isList || isCompared ? nil : question.copy
        let results = await run.model.tensors(of: items, options: run.options, slot: slot) {
            (views, times) throws(InferenceError) in
            if let copy { return TensorOutputs(times: times, copied: CopiedOutputs([]), response: copy(views)) }
            return TensorOutputs(times: times, copied: CopiedOutputs(views), response: nil)
        }
        return zip(items, results).map { item, result in
            result.map { outputs in
                parts.metrics.record(outputs.times, recv: run.receiving, encode: 0, model: run.name)
                var outputs = outputs
                if isCompared { outputs.shadow = shadow(of: item, outputs) }
                return outputs
            }.mapError { slots.failure($0, of: .inputs) }
        }
    }

    func answer(_ outputs: TensorOutputs) async throws(ServiceError) -> HTTPResponse {
        if let response = outputs.response { return response }
        return try await WorkQueue.writing(outputs.copied.byteCount) { () throws(ServiceError) in
            try question.write([outputs], run, outputs.shadow)
        }
    }

    func answer(_ outcomes: [ItemOutcome<TensorOutputs>]) async throws(ServiceError) -> HTTPResponse {
        var all: [TensorOutputs] = []
        for outcome in outcomes {
            switch outcome.result {
            case .success(let one): all.append(one)
            case .failure(let error):
                throw error.prefixed("\(question.itemName): ".replacing("#", with: "\(outcome.index + 1)"))
            }
        }
        let outputs = all, size = outputs.reduce(0) { $0 + $1.copied.byteCount }
        return try await parts.work.read(size, for: run.options.claim, until: run.options.deadline) {
            (_) throws(ServiceError) in
            // Compare the answer of one item only, for the whole request.
            var shadow = outputs.first?.shadow
            shadow?.isAlone = false
            return try question.write(outputs, run, shadow)
        }
    }
}
