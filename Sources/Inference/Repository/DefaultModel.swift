/// The model that a request means which names none.
package enum DefaultModel: Sendable, Hashable {
    /// - Parameter isAvailable: whether it answers, now or once a request has loaded it. Where no model does, one that
    ///   was unloaded or has failed is meant, so that the answer says so.
    case model(String, isAvailable: Bool)
    /// The first by name that would be meant if its model.json were finished (`$decide`): it is asked by its name only.
    case undecided(String)
    case none

    /// The routes that need not name a model.
    package enum Purpose: Sendable, Hashable {
        case classification
        case task(ObservationTask)
    }

    /// The properties of a version that decide whether it is meant.
    package struct Candidate: Sendable, Hashable {
        /// It is ready, and does what is asked.
        package var isReady: Bool
        /// Its files say that it does what is asked.
        package var isDeclared: Bool
        /// Only loading it shows what it does.
        package var isUndetermined: Bool
        /// Its model.json is not finished.
        package var isUndecided: Bool
        /// It is a pipeline: adding one must not change what routes without a name mean.
        package var isPipeline = false
        /// See ``VersionMachine/isToCome``.
        package var isToCome: Bool
        /// See ``VersionMachine/isComingBack``.
        package var isComingBack: Bool

        // Wide: all have defaults; most tests set one or two.
        package init(
            isReady: Bool = false, isDeclared: Bool = false, isUndetermined: Bool = false, isUndecided: Bool = false,
            isPipeline: Bool = false, isToCome: Bool = false, isComingBack: Bool = false
        ) {
            self.isPipeline = isPipeline
            self.isReady = isReady
            self.isDeclared = isDeclared
            self.isUndetermined = isUndetermined
            self.isUndecided = isUndecided
            self.isToCome = isToCome
            self.isComingBack = isComingBack
        }
    }

    /// The decision while the versions of the models are gone through, in any order: the best rank counts, then the
    /// first by name.
    package struct Decision: Sendable {
        private enum Rank: Int {
            case chosen, ready, toCome, undetermined, unavailable, undecided
        }

        private let purpose: Purpose
        /// The model that is meant whatever others there are, if it can be: that of the settings, or the one of before.
        package let preferred: String?
        private let isConfigured: Bool
        private var best: (rank: Rank, name: String)?

        /// - Parameters:
        ///   - configured: `default_model`; empty for none. For classification it is meant even where there is no such
        ///     model; for other tasks, if it does them.
        ///   - settled: the model that has been meant so far; nil for none.
        package init(_ purpose: Purpose, configured: String, settled: String?) {
            self.purpose = purpose
            isConfigured = !configured.isEmpty
            preferred = isConfigured ? configured : settled
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
            case .ready, .toCome: return .chosen
            case .unavailable where candidate.isComingBack: return .chosen
            default: return rank
            }
        }

        private func rank(_ candidate: Candidate) -> Rank? {
            if candidate.isReady, !candidate.isUndecided { return .ready }
            if candidate.isDeclared, candidate.isToCome, !candidate.isUndecided { return .toCome }
            if mayBeLoaded(candidate) { return .undetermined }
            guard candidate.isDeclared else { return nil }
            return candidate.isUndecided ? .undecided : .unavailable
        }

        /// The tasks of lazy models without model.json are known when they are loaded. One of these comes last, and may
        /// turn out to do something else.
        private func mayBeLoaded(_ candidate: Candidate) -> Bool {
            purpose != .classification && candidate.isUndetermined && candidate.isToCome
        }
    }
}
