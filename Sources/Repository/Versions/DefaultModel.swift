package import EngineAPI

/// The model for a request without a model name.
package enum DefaultModel: Sendable, Hashable {
    /// - Parameter isAvailable: whether the model answers, now or after a request has loaded it. If no model does, an
    ///   unloaded or failed one is chosen, so that the error states its condition.
    case model(String, isAvailable: Bool)
    /// The first by name that would be chosen if its model.json were complete (`$decide`): it answers only requests
    /// that name it.
    case undecided(String)
    case none

    /// The routes that need not name a model.
    package enum Purpose: Sendable, Hashable {
        case classification
        case task(ObservationTask)
        /// Embedding texts.
        case texts
        /// Classification by labels of a request.
        case labels
    }

    /// The properties of a version that decide whether its model is chosen.
    package struct Candidate: Sendable, Hashable {
        /// True if it is ready, and performs the task.
        package var isReady: Bool
        /// True if its files declare the task.
        package var isDeclared: Bool
        /// True if only loading it shows its task.
        package var isUndetermined: Bool
        /// True if its model.json is incomplete.
        package var isUndecided: Bool
        /// True for a pipeline: adding one must not change the default model of a route.
        package var isPipeline = false
        /// See ``VersionMachine/isExpected``.
        package var isExpected: Bool
        /// See ``VersionMachine/isRetrying``.
        package var isRetrying: Bool

        // Wide: all have defaults; most tests set one or two.
        package init(
            isReady: Bool = false, isDeclared: Bool = false, isUndetermined: Bool = false, isUndecided: Bool = false,
            isPipeline: Bool = false, isExpected: Bool = false, isRetrying: Bool = false
        ) {
            self.isPipeline = isPipeline
            self.isReady = isReady
            self.isDeclared = isDeclared
            self.isUndetermined = isUndetermined
            self.isUndecided = isUndecided
            self.isExpected = isExpected
            self.isRetrying = isRetrying
        }
    }

    /// The decision while the versions of all models are visited, in any order: the best rank wins, then the first by
    /// name.
    package struct Decision: Sendable {
        private enum Rank: Int {
            case chosen, ready, awaited, undetermined, unavailable, undecided
        }

        private let purpose: Purpose
        /// The model that is chosen before all others, if it qualifies: the model of the settings, or the fixed one.
        package let preferred: String?
        private let isConfigured: Bool
        private var best: (rank: Rank, name: String)?

        /// - Parameters:
        ///   - configured: `default_model`; empty if not set. For classification it is chosen even if the model does
        ///     not exist; for other tasks, if it performs them.
        ///   - resolved: the default model so far; nil if none is fixed.
        package init(_ purpose: Purpose, configured: String, resolved: String?) {
            self.purpose = purpose
            isConfigured = !configured.isEmpty
            preferred = isConfigured ? configured : resolved
            if isConfigured, purpose == .classification { best = (.chosen, configured) }
        }

        /// True if no other version can change the result.
        package var isSure: Bool { best?.rank == .chosen }

        package mutating func consider(_ name: String, _ candidate: Candidate) {
            guard let rank = rank(candidate, isPreferred: name == preferred) else { return }
            if let best, (best.rank.rawValue, best.name) <= (rank.rawValue, name) { return }
            best = (rank, name)
        }

        package var result: DefaultModel {
            guard let best else { return .none }
            return best.rank == .undecided
                ? .undecided(best.name) : .model(best.name, isAvailable: best.rank != .unavailable)
        }

        private func rank(_ candidate: Candidate, isPreferred: Bool) -> Rank? {
            if isPreferred, isConfigured, candidate.isDeclared || mayBeLoaded(candidate) { return .chosen }
            let rank = rank(candidate)
            guard isPreferred, !isConfigured else { return candidate.isPipeline ? nil : rank }
            switch rank {
            case .ready, .awaited: return .chosen
            case .unavailable where candidate.isRetrying: return .chosen
            default: return rank
            }
        }

        private func rank(_ candidate: Candidate) -> Rank? {
            if candidate.isReady, !candidate.isUndecided { return .ready }
            if candidate.isDeclared, candidate.isExpected, !candidate.isUndecided { return .awaited }
            if mayBeLoaded(candidate) { return .undetermined }
            guard candidate.isDeclared else { return nil }
            return candidate.isUndecided ? .undecided : .unavailable
        }

        /// The tasks of lazy models without model.json are known only when they are loaded. Such a model ranks last
        /// among those that can answer, and may turn out to perform another task.
        private func mayBeLoaded(_ candidate: Candidate) -> Bool {
            purpose != .classification && candidate.isUndetermined && candidate.isExpected
        }
    }
}
