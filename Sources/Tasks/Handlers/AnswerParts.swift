internal import Synchronization
package import WireFormats

/// The answers of a request's items as bytes of a task's own form, from which the caller writes the answer.
/// Thread-safe.
package final class AnswerParts: Sendable {
    /// The items, and the model that answered them.
    package struct Content: Sendable {
        package var model = ""
        package var version = ""
        /// The answers, in the order of the items.
        package var parts: [Result<[UInt8], ServiceError>] = []
    }

    private let state = Mutex(Content())

    package init() {}

    /// The answers; empty before the prediction.
    package var content: Content { state.withLock { $0 } }

    /// Sets the answers. Another version of the model may answer again, after an error.
    func set(model: String, version: String, _ parts: [Result<[UInt8], ServiceError>]) {
        state.withLock { $0 = Content(model: model, version: version, parts: parts) }
    }
}
