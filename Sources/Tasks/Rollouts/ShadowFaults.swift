internal import ImagePipeline
package import Inference
package import SystemSupport

/// Distinguishes a candidate's own errors from temporary ones of the machine.
///
/// An item that takes longer than its limit is a sign of a slow candidate, or of a machine that was paused. Therefore
/// only the second such item in succession is an error.
package struct ShadowFaults: Sendable {
    /// The candidate with a late last item, and the time of that finding, by model.
    private var late: [String: (candidate: String, at: MonotonicInstant)] = [:]

    package init() {}

    /// Records that a model's candidate has answered an item in time.
    package mutating func answered(_ name: String) { late[name] = nil }

    /// Records that a model's candidate has not answered an item in time.
    /// - Parameter began: the time when the item arrived. Concurrent items are late for the same reason, and count
    ///   once.
    /// - Returns: whether it is the second in succession.
    package mutating func wasLate(_ name: String, candidate: String, began: MonotonicInstant) -> Bool {
        guard let last = late[name], last.candidate == candidate else {
            late[name] = (candidate, .now)
            return false
        }
        guard began >= last.at else { return false }
        late[name] = (candidate, .now)
        return true
    }

    /// The message of an error of the candidate's own; nil for other errors.
    /// - Parameter limit: the time limit of the item.
    package mutating func message(
        of error: InferenceError, _ name: String, candidate: String, limit: Duration
    ) -> String? {
        switch error {
        case .deadlineExceeded(stage: .inference), .deadlineExceeded(stage: .postprocess):
            // Items run one at a time, so this one began after the last.
            guard wasLate(name, candidate: candidate, began: .now) else { return nil }
            return "twice in succession, no answer within \(limit.components.seconds) s"
        case .image(.outOfMemory, _), .image(.noDecoder, _): return nil
        default: return error.isTemporary || error.isOutOfThreads ? nil : error.message
        }
    }
}
