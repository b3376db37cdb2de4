internal import HTTPWire
internal import Inference
internal import ServiceCore

/// The watchers of one request's answers, and what they need to know of the request.
struct AnswerWatch: Sendable {
    let watchers: [any AnswerWatcher]
    let client: UInt64
    let mayKeep: Bool

    /// Nil for a model without watchers.
    init?(_ call: Call, _ model: Model, named name: String) {
        guard call.parts.watchers.contains(where: { $0.watches(model, named: name) }) else { return nil }
        watchers = call.parts.watchers.filter { $0.watches(model, named: name) }
        client = call.sender.sender
        mayKeep = !call.head.hasCacheControl("no-store")
    }

    /// Passes reports to all watchers.
    func answered(_ reports: [AnswerReport]) {
        for report in reports {
            for watcher in watchers { watcher.answered(report) }
        }
    }
}
