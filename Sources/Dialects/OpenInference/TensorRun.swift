internal import FlowControl
internal import Inference
internal import ServiceCore
internal import Tasks
internal import WireFormats

/// Runs the items of a request in slots and returns the engine's own tensors, for the formats of answers that have
/// them.
struct TensorRun: Sendable {
    let slots: SlotRun
    /// The name under which the model is served.
    let name: String
    /// Nanoseconds from the request's first byte to its last.
    let receiving: UInt64

    /// The value read from one prediction's outputs, and its times.
    struct Outputs<R: Sendable>: Sendable {
        let value: R
        let times: StageTimes
    }

    /// Runs some of the items in a slot, in one inference; more than one if the bundle sets `runtime.batch`.
    /// - Parameter read: called while the outputs' memory is valid.
    func results<R: Sendable>(
        of items: [DictionaryFeatureProvider], in slot: Slot, read: ([TensorView]) -> R
    ) async -> [Result<Outputs<R>, ServiceError>] {
        let results = await slots.model.tensors(of: items, options: slots.options, slot: slot) {
            (views, times) throws(InferenceError) in Outputs(value: read(views), times: times)
        }
        return results.map { result in
            result.map { outputs in
                slots.metrics.record(outputs.times, recv: receiving, encode: 0, model: name)
                return outputs
            }.mapError { slots.failure($0, of: .inputs) }
        }
    }

    /// The outputs of all items, each in its own slot. The first failure of an item fails the request.
    /// - Parameter kind: the name of an item in errors, with `#` for its number.
    func all(
        _ items: [DictionaryFeatureProvider], kind: String
    ) async throws(ServiceError) -> [Outputs<CopiedOutputs>] {
        let outcomes = await slots.outcomes(
            of: items, stopsAtFailure: true, work: { slots.model.pictureTime(of: $0) }
        ) { items, slot in await results(of: items, in: slot, read: CopiedOutputs.init) }
        var outputs: [Outputs<CopiedOutputs>] = []
        for outcome in outcomes {
            switch outcome.result {
            case .success(let one): outputs.append(one)
            case .failure(let error): throw error.prefixed("\(kind): ".replacing("#", with: "\(outcome.index + 1)"))
            }
        }
        return outputs
    }
}
