internal import ImagePipeline
package import Inference
package import SystemSupport

/// Tells a candidate's own errors from those of the machine and of the moment.
///
/// A candidate that takes longer than an item may is slow, unless the machine stood still: only the second such item
/// in succession is an error.
package struct ShadowFaults: Sendable {
    /// The candidates whose last item took too long, and when that was found, by the model.
    private var late: [String: (candidate: String, at: MonotonicInstant)] = [:]

    package init() {}

    /// A model's candidate has answered an item in time.
    package mutating func answered(_ name: String) { late[name] = nil }

    /// A model's candidate has not answered an item in time.
    /// - Parameter began: when the item came. Items at the same time are late for one reason, and count once.
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

    /// The message of an error that is the candidate's own; nil for another one.
    /// - Parameter limit: the time that it had.
    package mutating func message(
        of error: InferenceError, _ name: String, candidate: String, limit: Duration
    ) -> String? {
        switch error {
        case .deadlineExceeded(stage: .inference), .deadlineExceeded(stage: .postprocess):
            // One item at a time.
            guard wasLate(name, candidate: candidate, began: .now) else { return nil }
            return "twice in succession, no answer within \(limit.components.seconds) s"
        case .image(.outOfMemory, _), .image(.noDecoder, _): return nil
        default: return error.isOfTheMoment || error.isForWantOfThreads ? nil : error.message
        }
    }
}
