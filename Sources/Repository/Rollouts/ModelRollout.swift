package import Inference
package import Rollout
internal import Synchronization

/// The rollout of one model: ``RolloutMachine`` decides; this class holds the lock, the file and the current
/// comparison.
package final class ModelRollout: Sendable {
    private let state: Mutex<State>
    /// Held while a change is saved: it serializes changes, and requests do not wait for the disk.
    private let changing = Mutex(())

    private struct State {
        var machine = RolloutMachine()
        var file: RolloutFile
        /// The content of the file as last read or written.
        var saved: RolloutMachine.Record?
        var problem: String?
        /// True if the file was read once, or was found not to exist.
        var isRead = false
        /// The reason the last reading failed; nil if it succeeded.
        var complaint: String?
        /// The current comparison, or the last one that ended.
        var comparison: Comparison?
    }

    private let name: String
    /// The folder of the pictures that differ; nil if there is no state folder.
    private let pictures: DifferenceFolder?

    init(_ file: RolloutFile, of name: String, pictures: DifferenceFolder?) {
        state = Mutex(State(file: file))
        self.name = name
        self.pictures = pictures
    }

    /// Removes the pictures of the comparison. Blocks.
    func removePictures() { pictures?.remove(of: name) }

    /// The rollout at one moment.
    package struct View: Sendable {
        package let machine: RolloutMachine
        /// The reason rollout.json could not be read when the model was found; no version serves then.
        package let problem: String?
        /// The current comparison, or the last one that ended; nil if no comparison was made.
        package let comparison: Comparison?

        /// True if a version may answer requests without a version.
        func mayServe(_ version: String, digest: String?) -> Bool {
            problem == nil && machine.mayServe(version, digest: digest)
        }
    }

    /// The view if it bars a version from answering requests without a version; nil if every version may. For most
    /// models it is nil; every request reads it.
    var barring: View? {
        state.withLock { state in
            guard state.problem != nil || !state.machine.allowsAll else { return nil }
            return View(machine: state.machine, problem: state.problem, comparison: nil)
        }
    }

    package var view: View {
        state.withLock { View(machine: $0.machine, problem: $0.problem, comparison: $0.comparison) }
    }

    /// The decisions only, for use by every request.
    var machine: RolloutMachine { state.withLock { $0.machine } }

    /// The candidate, while it is being compared.
    package var candidate: RolloutPlan.Candidate? { state.withLock { $0.machine.candidate } }

    // MARK: Comparing

    /// The answers of both versions to one item.
    package struct Pair: Sendable {
        /// The digest of the request item.
        package let id: String
        package let serving: ComparableAnswer, candidate: ComparableAnswer
        /// The times of both inferences; nil if they are not comparable.
        package var times: (serving: StageTimes, candidate: StageTimes)?

        package init(id: String, serving: ComparableAnswer, candidate: ComparableAnswer) {
            self.id = id
            self.serving = serving
            self.candidate = candidate
        }
    }

    /// Counts an item that should have been compared, but for which there was no capacity.
    package func skip(of candidate: String) {
        state.withLock { state in
            if state.machine.candidate?.version == candidate { state.comparison?.skip() }
        }
    }

    /// Adds two answers, unless another candidate is compared by now.
    /// - Returns: whether the answers so far give a verdict, and whether this pair is among those that differ most.
    func add(_ pair: Pair, of candidate: String) -> (isVerdict: Bool, isListed: Bool) {
        state.withLock { state in
            guard state.machine.candidate?.version == candidate, state.comparison != nil else { return (false, false) }
            state.comparison?.add(id: pair.id, serving: pair.serving, candidate: pair.candidate)
            if let times = pair.times {
                for (side, times) in [(LatencyComparison.Side.serving, times.serving), (.candidate, times.candidate)] {
                    state.comparison?.latency.add(times.inference, occupancy: times.occupancy, of: side)
                }
            }
            let isListed = state.comparison?.differences.contains { $0.id == pair.id } ?? false
            return (state.comparison?.verdict(for: state.machine.plan, digest: nil) != nil, isListed)
        }
    }

    /// The event that follows from the answers so far; nil if they give no verdict.
    func verdict(digest: String?) -> RolloutMachine.Event? {
        state.withLock { $0.comparison?.verdict(for: $0.machine.plan, digest: digest) }
    }

    // MARK: The file

    /// Reads the file if its content differs from the content that the daemon last read or wrote. A file that cannot be
    /// read changes nothing; if it was never read, no version serves. Blocks.
    /// - Returns: the sentence for the log; nil if nothing has changed.
    func read(_ file: RolloutFile) -> String? {
        changing.withLock { _ -> String? in
            let taken = take(file.read(), of: file)
            if taken.isReset { removePictures() }
            guard let sentence = taken.sentence, let lacking = taken.lacking else { return taken.sentence }
            do throws(RolloutFile.Problem) {
                try file.write(lacking)
            } catch {
                return "\(sentence), without the versions rolled back, which a restart forgets: \(error.message)"
            }
            state.withLock { $0.saved = lacking }
            return sentence
        }
    }

    /// The effect of reading a file.
    private struct Taken {
        /// For the log; nil if nothing has changed.
        var sentence: String?
        /// The record to write, if the file lacks versions that were rolled back.
        var lacking: RolloutMachine.Record?
        /// True if the pictures belong to another comparison and are removed. Those of a candidate that was rolled back
        /// or promoted outlive a restart.
        var isReset = false
    }

    /// Applies the content of a file.
    private func take(_ result: Result<RolloutMachine.Record?, RolloutFile.Problem>, of file: RolloutFile) -> Taken {
        state.withLock { state -> Taken in
            state.file = file
            switch result {
            case .failure(let problem):
                let isNew = state.complaint != problem.message
                state.complaint = problem.message
                if !state.isRead { state.problem = file.shown(problem) }
                let effect = state.isRead ? "the previous file stays in effect" : "no version serves"
                return Taken(sentence: isNew ? "\(problem.message); \(effect)" : nil)
            case .success(let record):
                let wasProblem = state.complaint != nil, isFirst = !state.isRead
                (state.problem, state.complaint, state.isRead) = (nil, nil, true)
                guard record != state.saved else {
                    return Taken(sentence: wasProblem ? "\(RolloutFile.name) is read" : nil, isReset: isFirst)
                }
                var next = record ?? RolloutMachine.Record()
                next.remember(state.machine.record.rolledBack)
                let isWhole = next.rolledBack == record?.rolledBack ?? []
                state.saved = record
                state.machine = RolloutMachine(next)
                state.comparison = Self.comparison(of: state.machine)
                return Taken(
                    sentence: record == nil ? "\(RolloutFile.name) is gone" : "\(RolloutFile.name) is read",
                    lacking: isWhole ? nil : state.machine.record,
                    isReset: state.machine.state == .none || state.machine.state == .comparing)
            }
        }
    }

    private static func comparison(of machine: RolloutMachine) -> Comparison? {
        machine.candidate == nil
            ? nil : Comparison(agreement: machine.plan.promote?.agreement ?? RolloutPlan.Promotion().agreement)
    }

    /// Handles an event: saves the new record, then applies it. Blocks.
    /// - Parameter mustBeKept: false for the daemon's own decisions, which apply to this process even if they cannot be
    ///   saved.
    /// - Returns: sentences for the log.
    func handle(_ event: RolloutMachine.Event, mustBeKept: Bool) throws(RolloutFile.Problem) -> [String] {
        try changing.withLock { (_) throws(RolloutFile.Problem) in
            var machine = state.withLock { $0.machine }
            let file = state.withLock { $0.file }
            var sentences: [String] = [], isSaved = true
            let actions = machine.handle(event)
            if actions.contains(.save) {
                do throws(RolloutFile.Problem) {
                    try file.write(machine.record)
                } catch {
                    if mustBeKept { throw error }
                    isSaved = false
                    sentences.append("\(error.message): a restart begins as before")
                }
            }
            state.withLock { [machine, isSaved] state in
                state.machine = machine
                if isSaved { state.saved = machine.record }
                state.problem = nil
                if actions.contains(.beginComparing) { state.comparison = Self.comparison(of: machine) }
                // A plan without a candidate discards the comparison of an earlier one.
                if machine.state == .none { state.comparison = nil }
            }
            if actions.contains(.beginComparing) || machine.state == .none { removePictures() }
            for case .report(let sentence) in actions { sentences.append(sentence) }
            return sentences
        }
    }
}
