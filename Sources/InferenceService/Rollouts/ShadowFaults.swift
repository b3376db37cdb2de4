internal import ImagePipeline
package import Inference

/// Tells a candidate's own errors from those of the machine and of the moment.
///
/// A candidate that takes longer than an item may is slow, unless the machine stood still: only the second such item
/// in succession is an error.
package struct ShadowFaults: Sendable {
    /// The candidates whose last item took too long, by the model.
    private var late: [String: String] = [:]

    package init() {}

    /// A model's candidate has answered an item in time.
    package mutating func answered(_ name: String) { late[name] = nil }

    /// The message of an error that is the candidate's own; nil for another one.
    /// - Parameter limit: the time that it had.
    package mutating func message(
        of error: InferenceError, _ name: String, candidate: String, limit: Duration
    ) -> String? {
        switch error {
        case .deadlineExceeded(stage: .inference), .deadlineExceeded(stage: .postprocess):
            guard late.updateValue(candidate, forKey: name) == candidate else { return nil }
            return "twice in succession, no answer within \(limit.components.seconds) s"
        case .image(.outOfMemory, _), .image(.noDecoder, _): return nil
        default: return error.isOfTheMoment || error.isForWantOfThreads ? nil : error.message
        }
    }
}
