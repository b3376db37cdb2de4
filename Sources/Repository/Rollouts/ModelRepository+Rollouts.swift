internal import Bundles
package import EngineAPI
internal import Inference
package import Rollout
internal import Synchronization
package import SystemSupport

extension ModelRollout.View {
    /// The reason no version may serve.
    var absence: String {
        if let problem { return problem }
        guard let serve = machine.plan.serve else { return "its versions are candidates, or were rolled back" }
        return "\(RolloutFile.name) names version \(serve) to serve, which does not exist"
    }
}

/// The reason a rollout is not changed.
package enum RolloutRefusal: Error, Sendable {
    /// The model or version does not exist.
    case unknown(InferenceError)
    /// A named version cannot be loaded, no version would serve, or no folder can hold the rollout file.
    case conflict(String)
    /// A named version is still being loaded, or the disk is full.
    case notNow(String)
}

extension ModelRepository {
    /// The state of a model's rollout.
    package struct RolloutStatus: Sendable {
        package let view: ModelRollout.View
        /// The version that answers requests without a version; nil if no version does.
        package let serving: String?
    }

    /// - Throws: ``InferenceError/modelNotFound(name:known:)``.
    package func rolloutStatus(of name: String) throws(InferenceError) -> RolloutStatus {
        _ = try highest(of: name)
        let rollout = rollout(of: name)
        return RolloutStatus(view: rollout.view, serving: serving(of: name)?.version)
    }

    /// The rollouts of the models that have one, by name.
    package var rolloutViews: [(name: String, view: ModelRollout.View)] {
        rollouts.withLock { rollouts in
            rollouts.map { ($0.key, $0.value.view) }.filter { $0.1.machine.state != .none || $0.1.problem != nil }
        }.sorted { $0.0 < $1.0 }.map { (name: $0.0, view: $0.1) }
    }

    /// The model's rollout; an empty one is created if it has none.
    func rollout(of name: String) -> ModelRollout {
        rollouts.withLock { rollouts in
            if let rollout = rollouts[name] { return rollout }
            let rollout = ModelRollout(
                RolloutFile(model: name, place: nil, stateFolder: stateFolder), of: name,
                pictures: stateFolder.map { DifferenceFolder(path: $0) })
            rollouts[name] = rollout
            return rollout
        }
    }

    /// The version that answers requests without a version.
    func serving(of name: String) -> ModelVersion? {
        let rollout = rollouts.withLock { $0[name] }?.view
        let ascending = items.withLock { $0[name] ?? [] }.sorted { $0.order < $1.order }
        return VersionSituation.answering(ascending.map { $0.situation(in: rollout) }).map { ascending[$0] }
    }

    /// The version that a path segment of a URL means: a version's own number, or a label. Returns the segment itself
    /// if it is neither; no version has it then.
    package func number(for word: String, of name: String) -> String {
        guard !(items.withLock { $0[name] ?? [] }).contains(where: { $0.version == word }) else { return word }
        let plan = rollouts.withLock { $0[name] }?.machine.plan ?? RolloutPlan()
        return plan.version(labelled: word, serving: serving(of: name)?.version) ?? word
    }

    /// The digest of the files of the version that answers requests without a version, loaded or not, as it was last
    /// read; nil before the first reading.
    package func servingDigest(of name: String) -> String? { serving(of: name)?.digest }

    /// Computes the digest that ``servingDigest(of:)`` returns, if the files have changed. Blocks.
    package func readServingDigest(of name: String) { serving(of: name)?.readDigest() }

    /// The version that answers requests without a version, ready or not; nil if no version may.
    package func servingVersion(of name: String) -> String? { serving(of: name)?.version }

    /// The reason that no version of a model may answer requests without a version; nil if one may.
    package func reasonAgainstAll(of name: String) -> String? {
        guard serving(of: name) == nil else { return nil }
        return rollouts.withLock { $0[name] }?.barring?.absence
    }

    // MARK: Changes

    /// Replaces a model's plan. The versions that it names are loaded first; the plan takes effect as a whole when they
    /// are ready.
    /// - Parameter deadline: the end of the wait for the loads; they continue after it.
    package func setRollout(
        of name: String, _ plan: RolloutPlan, deadline: MonotonicInstant
    ) async throws(RolloutRefusal) {
        var named: [(String, ModelVersion)] = []
        let all = versions(of: name)
        guard !all.isEmpty else { throw .unknown(.modelNotFound(name: name, known: names)) }
        for version in plan.versions.sorted() {
            do throws(InferenceError) {
                guard let item = all.first(where: { $0.version == version }) else {
                    throw .versionNotFound(name: name, version: version, known: all.map(\.version))
                }
                named.append((version, item))
            } catch {
                throw .unknown(error)
            }
        }
        for (version, item) in named {
            if version == plan.serve || version == plan.candidate?.version {
                try await prepare(item, deadline: deadline)
            } else if case .failed(let reason) = item.record.state {
                throw .conflict("version \(version) of model \"\(name)\" has failed: \(reason)")
            }
        }
        if plan.serve == nil, let candidate = plan.candidate?.version,
            !versions(of: name).contains(where: { $0.version != candidate })
        {
            throw .conflict("version \(candidate) is the only one of model \"\(name)\": no version would serve")
        }
        try await change(name) { .put(plan, digests: self.digests(of: name)) }
    }

    /// Deletes a model's plan: the highest good version serves again.
    package func deleteRollout(of name: String) async throws(RolloutRefusal) {
        do throws(InferenceError) { _ = try highest(of: name) } catch { throw .unknown(error) }
        try await change(name) { .delete }
    }

    private func prepare(_ item: ModelVersion, deadline: MonotonicInstant) async throws(RolloutRefusal) {
        guard item.readyModel == nil else { return }
        do throws(InferenceError) {
            _ = try await load(item, deadline: deadline)
        } catch {
            let words = "version \(item.version) of model \"\(item.name)\""
            switch error {
            case .deadlineExceeded, .cancelled:
                throw .notNow("\(words) is still being loaded; nothing has changed: try again")
            default: throw .conflict("\(words) has failed: \(error.message)")
            }
        }
    }

    /// The digests of a model's versions, by version; empty if no version was rolled back, because only then are they
    /// needed. Blocks.
    private func digests(of name: String) -> [String: String] {
        guard !rollout(of: name).machine.record.rolledBack.isEmpty else { return [:] }
        return Dictionary(versions(of: name).compactMap { item in item.readDigest().map { (item.version, $0) } }) { $1 }
    }

    private func change(
        _ name: String, _ event: @escaping @Sendable () -> RolloutMachine.Event
    ) async throws(RolloutRefusal) {
        let result = await LoaderThread.run {
            let event = event()
            return Result { () throws(RolloutFile.Problem) in
                try self.rollout(of: name).handle(event, mustBeKept: true)
            }
        }
        do throws(RolloutFile.Problem) {
            tell(try result.get(), of: name)
        } catch {
            throw .conflict(
                "the rollout of model \"\(name)\" cannot be kept, and nothing has changed: \(error.message)")
        }
        // A version that should serve now may not be loaded: the highest, after a rollout that named another.
        Task {
            await loadWanted(of: name)
            await renewPipelines { $0.contains(name) }
        }
    }

    private func loadWanted(of name: String) async {
        for item in versionsToLoad(of: name) where item.policy == .eager && item.readyModel == nil {
            _ = try? await load(item)
        }
    }

    /// Handles an event that the daemon itself has detected. Does not block the caller; changes of one model are
    /// serialized.
    private func note(of name: String, _ event: @escaping @Sendable () -> RolloutMachine.Event?) {
        Task.detached {
            let sentences = await LoaderThread.run { () -> [String] in
                guard let event = event() else { return [] }
                return (try? self.rollout(of: name).handle(event, mustBeKept: false)) ?? []
            }
            self.tell(sentences, of: name)
            if !sentences.isEmpty { await self.renewPipelines { $0.contains(name) } }
        }
    }

    private func tell(_ sentences: [String], of name: String) {
        let state = rollout(of: name).machine.state.rawValue
        for sentence in sentences { onEvent(.rollout(name: name, state: state, text: sentence)) }
    }

    // MARK: Comparing

    /// The rollout of a model with a candidate that is being compared; nil for others. Every request calls it.
    package func comparedRollout(of name: String) -> ModelRollout? {
        rollouts.withLock { $0[name] }.flatMap { $0.candidate == nil ? nil : $0 }
    }

    /// Compares the answers of both versions to one item; a resulting promotion or roll-back is carried out.
    /// - Returns: whether the item is among those that differ most.
    package func compare(_ pair: ModelRollout.Pair, of name: String, candidate: String) -> Bool {
        guard let rollout = comparedRollout(of: name) else { return false }
        let (isVerdict, isListed) = rollout.add(pair, of: candidate)
        if isVerdict { decide(of: name, candidate: candidate) { rollout.verdict(digest: $0) } }
        return isListed
    }

    /// Reports that a candidate which answered instead of the serving version failed by its own fault: it is rolled
    /// back.
    package func candidateReturnedError(of name: String, candidate: String, reason: String) {
        decide(of: name, candidate: candidate) { .candidateReturnedError(reason: reason, digest: $0) }
    }

    /// Handles an event of a candidate; a roll-back records the digest of its files.
    private func decide(
        of name: String, candidate: String, _ event: @escaping @Sendable (String?) -> RolloutMachine.Event?
    ) {
        note(of: name) { [items = versions(of: name)] in
            guard self.rollout(of: name).candidate?.version == candidate else { return nil }
            return event(items.first { $0.version == candidate }?.readDigest())
        }
    }

    // MARK: Events of loads

    /// Reports the end of a load to the rollout, if the version is its candidate.
    func reportToRollout(of item: ModelVersion, _ outcome: ModelVersion.Outcome) {
        guard let plan = rollouts.withLock({ $0[item.name] })?.machine.plan, plan.candidate?.version == item.version
        else { return }
        switch outcome.result {
        case .success: if outcome.isKept { note(of: item.name) { .candidateLoaded } }
        case .failure(let error):
            // The previous model still answers after a failed reload.
            guard item.readyModel == nil else { return }
            let reason = item.shown(error.message)
            note(of: item.name) { .candidateFailed(reason: reason) }
        }
    }

    // MARK: Files

    /// Reads the rollouts of the models that were found, before they are served. Blocks.
    func readRollouts(of items: [String: [ModelVersion]]) {
        let gone = rollouts.withLock { rollouts -> [String: ModelRollout] in
            let gone = rollouts.filter { items[$0.key] == nil }
            for name in gone.keys { rollouts[name] = nil }
            return gone
        }
        for rollout in gone.values { rollout.removePictures() }
        let links = configuration.links
        for (name, versions) in items {
            let rollout = rollout(of: name)
            let file = RolloutFile(
                model: name, place: versions.lazy.compactMap(\.place).first, stateFolder: stateFolder, links: links)
            let sentence = rollout.read(file)
            // Changed files are no longer those that were rolled back, while copies of those still are.
            if !rollout.machine.record.rolledBack.isEmpty { for item in versions { item.readDigest() } }
            if let sentence { tell([sentence], of: name) }
        }
    }
}
