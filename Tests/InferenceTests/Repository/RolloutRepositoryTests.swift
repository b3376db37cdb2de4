import Foundation
import Inference
internal import Repository
import Rollout
import SystemSupport
import TestSupport
import Testing

/// Rollouts of models in a repository: the version that serves, and the state that survives a restart.
@Suite struct RolloutRepositoryTests {
    /// A folder with the model "m" as numbered versions.
    private static func folder(_ versions: [String]) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for version in versions {
            let place = folder.url.appendingPathComponent("m/\(version)")
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            // The number of columns makes the versions, and the digests of their files, different.
            try IdentityModel.write("f32", named: "model", columns: Int(version) ?? 1, into: place)
        }
        return folder
    }

    private static func repository(_ folder: TemporaryFolder, state: String? = nil) throws -> ModelRepository {
        let repository = ModelRepository(
            folders: [folder.url.path], configuration: ModelConfiguration(), stateFolder: state)
        try repository.discover()
        return repository
    }

    private static func plan(
        serve: String? = nil, candidate: String? = nil, labels: [String: String] = [:]
    ) -> RolloutPlan {
        var plan = RolloutPlan()
        plan.serve = serve
        plan.candidate = candidate.map { RolloutPlan.Candidate(version: $0) }
        plan.labels = labels
        return plan
    }

    private static func set(_ plan: RolloutPlan, _ repository: ModelRepository) async throws {
        try await repository.setRollout(of: "m", plan, deadline: .now + .seconds(60))
    }

    private func answering(_ repository: ModelRepository, _ version: String? = nil) async throws -> String {
        try await repository.model(named: "m", version: version).description.version
    }

    @Test("a rollout sets the serving version and the labels, and survives a restart until deleted")
    func thePlanSaysWhichVersionServesAndSurvivesARestart() async throws {
        let folder = try Self.folder(["1", "2", "10"])
        let repository = try Self.repository(folder)
        await repository.loadEager()
        #expect(try await answering(repository) == "10")
        try await Self.set(Self.plan(serve: "2", labels: ["next": "10"]), repository)
        #expect(try await answering(repository) == "2" && repository.servingVersion(of: "m") == "2")
        #expect(try await answering(repository, "stable") == "2")
        #expect(try await answering(repository, "next") == "10")
        #expect(try repository.records(of: "m", version: "next").map(\.version) == ["10"])
        let again = try Self.repository(folder)
        await again.loadEager()
        #expect(try await answering(again) == "2")
        // The highest version is loaded too.
        #expect(try again.readyModel(named: "m", version: "10") != nil)
        #expect(try again.readyModel(named: "m", version: "1") == nil)
        try await again.deleteRollout(of: "m")
        #expect(try await answering(again) == "10")
        #expect(try await answering(Self.repository(folder)) == "10")
    }

    @Test("a version that a rollout names to serve is not replaced by another if it cannot be loaded")
    func aVersionThatIsNamedAndCannotBeLoadedIsNotReplaced() async throws {
        let folder = try Self.folder(["1", "2"])
        let repository = try Self.repository(folder)
        await repository.loadEager()
        try await Self.set(Self.plan(serve: "2"), repository)
        try Data("junk".utf8).write(to: folder.url.appendingPathComponent("m/2/model.xml"))
        let again = try Self.repository(folder)
        await again.loadEager()
        await #expect(throws: InferenceError.self) { try await again.model(named: "m") }
        #expect(!again.isReady())
        #expect(try await answering(again, "1") == "1")
        try FileManager.default.removeItem(at: folder.url.appendingPathComponent("m/2"))
        try again.discover()
        let error = await #expect(throws: InferenceError.self) { try await again.model(named: "m") }
        #expect(error?.message.contains("names version 2 to serve, which does not exist") == true)
        #expect(!again.isReady())
    }

    @Test("a new version next to the version that a rollout names is loaded and does not serve")
    func aNewVersionLoadsBesideAndDoesNotServe() async throws {
        let folder = try Self.folder(["1"])
        let repository = try Self.repository(folder)
        await repository.loadEager()
        try await Self.set(Self.plan(serve: "1"), repository)
        let place = folder.url.appendingPathComponent("m/2")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        try IdentityModel.write("f32", named: "model", columns: 2, into: place)
        try repository.discover()
        await repository.reloadAll()
        #expect(try repository.readyModel(named: "m", version: "2") != nil)
        #expect(try await answering(repository) == "1")
    }

    @Test("a rollout that names an unknown or broken version is refused and changes nothing")
    func whatCannotBeSetChangesNothing() async throws {
        let folder = try Self.folder(["1", "2"])
        try Data("junk".utf8).write(to: folder.url.appendingPathComponent("m/2/model.xml"))
        let repository = try Self.repository(folder)
        await repository.loadEager()
        func refusal(_ plan: RolloutPlan, of name: String = "m") async -> RolloutRefusal? {
            do throws(RolloutRefusal) {
                try await repository.setRollout(of: name, plan, deadline: .now + .seconds(60))
                return nil
            } catch {
                return error
            }
        }
        for (plan, expected) in [
            (Self.plan(serve: "7"), "unknown"), (Self.plan(labels: ["x": "7"]), "unknown"),
            (Self.plan(candidate: "7"), "unknown"), (Self.plan(serve: "2"), "conflict"),
            (Self.plan(candidate: "2"), "conflict"), (Self.plan(labels: ["x": "2"]), "conflict"),
        ] {
            let refusal = await refusal(plan)
            #expect(refusal.map { "\($0)".hasPrefix(expected) } == true, "\(plan): \(String(describing: refusal))")
        }
        #expect(await refusal(Self.plan(), of: "other").map { "\($0)".hasPrefix("unknown") } == true)
        #expect(!FileManager.default.fileExists(atPath: folder.url.appendingPathComponent("m/rollout.json").path))
        #expect(try await answering(repository) == "1")
    }

    /// The rollout in `state_dir` is valid until the operator writes another file.
    @Test("a rollout.json that the operator writes overrides the rollout in state_dir")
    func theOperatorsFileCountsOverWhatIsKept() throws {
        let folder = try TemporaryFolder(), state = try TemporaryFolder()
        // A name that is not a valid file name.
        let name = "../m/%"
        var record = RolloutMachine.Record()
        record.plan = Self.plan(serve: "1")
        try RolloutFile(model: name, place: nil, stateFolder: state.url.path).write(record)
        let names = try FileManager.default.contentsOfDirectory(atPath: state.url.path + "/rollouts")
        #expect(names == ["%2e%2e%2fm%2f%25.json"])
        let file = RolloutFile(model: name, place: folder.url.path, stateFolder: state.url.path)
        #expect(try file.read().get()?.plan.serve == "1")
        try folder.write(["rollout.json": "{serve: '2', /* by hand */}"])
        #expect(try file.read().get()?.plan.serve == "2")
        record.plan.serve = "3"
        try file.write(record)
        #expect(try file.read().get() == record, "the folder can be written to")
        #expect(throws: RolloutFile.Problem.self) {
            try RolloutFile(model: name, place: nil, stateFolder: nil).write(record)
        }
    }

    @Test(
        "the rollout of a model in a read-only folder is kept in state_dir",
        .enabled(if: geteuid() != 0, "root writes everywhere"))
    func aFolderForReadingAloneKeepsItElsewhere() async throws {
        let folder = try Self.folder(["1", "2"]), state = try TemporaryFolder()
        let model = folder.url.appendingPathComponent("m").path
        func allow(_ mode: Int) throws {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: model)
        }
        try allow(0o555)
        defer { try? allow(0o755) }
        await #expect(throws: RolloutRefusal.self) {
            try await Self.set(Self.plan(serve: "1"), Self.repository(folder))
        }
        let repository = try Self.repository(folder, state: state.url.path)
        try await Self.set(Self.plan(serve: "1"), repository)
        #expect(try await answering(Self.repository(folder, state: state.url.path)) == "1")
        try allow(0o755)
        try Data("{serve: '2', /* by hand */}".utf8).write(to: folder.url.appendingPathComponent("m/rollout.json"))
        #expect(try await answering(Self.repository(folder, state: state.url.path)) == "2")
    }

    /// A kernel file system, in which even root cannot create files.
    private static let forReadingAlone = "/sys/kernel"

    @Test(
        "a rollout that cannot be written next to its model is kept in state_dir, also for root, or refused without it",
        .enabled(if: FileManager.default.fileExists(atPath: forReadingAlone), "there is no /sys/kernel"))
    func whatCannotBeWrittenBesideIsKeptElsewhere() throws {
        let state = try TemporaryFolder()
        var record = RolloutMachine.Record()
        record.plan = Self.plan(serve: "1")
        let file = RolloutFile(model: "m", place: Self.forReadingAlone, stateFolder: state.url.path)
        try file.write(record)
        #expect(FileManager.default.fileExists(atPath: state.url.path + "/rollouts/m.json"))
        #expect(try file.read().get() == record)
        let refusal = #expect(throws: RolloutFile.Problem.self) {
            try RolloutFile(model: "m", place: Self.forReadingAlone, stateFolder: nil).write(record)
        }
        #expect(refusal?.message.contains("no folder for data of the daemon is set (state_dir)") == true)
    }

    @Test("a file that the operator writes does not undo the roll-backs in state_dir; the daemon's own write does")
    func theOperatorsFileIsReadWithWhatWasRolledBack() throws {
        let folder = try TemporaryFolder(), state = try TemporaryFolder()
        var record = RolloutMachine.Record()
        record.plan = Self.plan(serve: "1")
        record.rolledBack = ["a", "b"]
        try RolloutFile(model: "m", place: nil, stateFolder: state.url.path).write(record)
        let file = RolloutFile(model: "m", place: folder.url.path, stateFolder: state.url.path)
        try folder.write(["rollout.json": "{serve: '2', rolled_back: ['b', 'c']}"])
        let found = try file.read().get()
        #expect(found?.plan.serve == "2" && found?.rolledBack == ["a", "b", "c"])
        // The daemon's own file, written by a put: the one in state_dir is obsolete.
        record.rolledBack = ["c"]
        try file.write(record)
        #expect(try file.read().get() == record)
        try FileManager.default.removeItem(atPath: folder.url.path + "/rollout.json")
        #expect(try file.read().get() == nil)
    }

    @Test("a rollout.json with a mistake stops its model, or leaves the previous plan in effect")
    func aFileWithAMistakeIsNotPassedOver() async throws {
        let folder = try Self.folder(["1", "2"])
        let file = folder.url.appendingPathComponent("m/rollout.json")
        try Data("{\"serve\": 7}".utf8).write(to: file)
        let repository = try Self.repository(folder)
        await repository.loadEager()
        let error = await #expect(throws: InferenceError.self) { try await repository.model(named: "m") }
        #expect(error?.message.contains("\"serve\": expected text") == true, "\(error?.message ?? "")")
        try Data("{\"serve\": \"1\"}".utf8).write(to: file)
        try repository.discover()
        #expect(try await answering(repository) == "1")
        // Now a valid plan exists.
        try Data("{".utf8).write(to: file)
        try repository.discover()
        #expect(try await answering(repository) == "1")
        try FileManager.default.removeItem(at: file)
        try repository.discover()
        #expect(try await answering(repository) == "2")
    }

    @Test("the digest of a bare ONNX file changes with its weights, in a file of any name, and with no other file")
    func theDigestCoversWeightsOfAnyName() throws {
        let folder = try TemporaryFolder()
        let file = ONNXFile(
            [ONNXFile.Node("Add", ["x", "w"], ["y"])], inputs: [("x", [1, 1])], outputs: [("y", [1, 1])],
            weights: [("w", 1, "other.data")])
        let path = folder.url.path + "/m.onnx"
        try file.bytes.write(to: URL(fileURLWithPath: path))
        func digest(_ files: [String: String]) throws -> String? {
            try folder.write(files)
            return Model.filesDigest(of: path)
        }
        let first = try #require(try digest(["other.data": "abcd"]))
        #expect(try digest(["unrelated.data": "x"]) == first)
        #expect(try digest(["other.data": "abce"]) != first)
        #expect(try digest(["other.data": "abcd"]) == first)
    }

    /// A version that was rolled back is recognized by its files, also after a restart and under another number.
    @Test("a rolled-back version does not serve, not even under another number, until a rollout names it")
    func whatWasRolledBackDoesNotServe() async throws {
        let folder = try Self.folder(["1", "2"])
        let repository = try Self.repository(folder)
        await repository.loadEager()
        let digest = try #require(try repository.readyModel(named: "m", version: "2")?.filesDigest)
        let file = folder.url.appendingPathComponent("m/rollout.json")
        try Data("{\"rolled_back\": [\"\(digest)\"]}".utf8).write(to: file)
        let again = try Self.repository(folder)
        await again.loadEager()
        #expect(try await answering(again) == "1")
        try FileManager.default.copyItem(
            at: folder.url.appendingPathComponent("m/2"), to: folder.url.appendingPathComponent("m/3"))
        try again.discover()
        await again.reloadAll()
        #expect(try await answering(again) == "1")
        try await again.deleteRollout(of: "m")
        #expect(try await answering(again) == "1", "a deletion does not make it good")
        try await Self.set(Self.plan(serve: "3"), again)
        #expect(try await answering(again) == "3")
        try await again.deleteRollout(of: "m")
        #expect(try await answering(again) == "3", "a put has named it")
    }

    // MARK: Candidates

    /// Waits for the expected state of the rollout, up to a limit: the daemon records its own decisions in the
    /// background.
    private func state(
        _ repository: ModelRepository, expecting state: RolloutMachine.State
    ) async throws -> RolloutMachine.State {
        for _ in 0..<2_000 {
            if try repository.rolloutStatus(of: "m").view.machine.state == state { break }
            try await Task.sleep(for: .milliseconds(5))
        }
        return try repository.rolloutStatus(of: "m").view.machine.state
    }

    /// Makes version 2 the candidate, and has it rolled back.
    private func rollBack(_ repository: ModelRepository) async throws {
        try await Self.set(Self.plan(candidate: "2"), repository)
        repository.candidateReturnedError(of: "m", candidate: "2", reason: "a test says so")
        #expect(try await state(repository, expecting: .rolledBack) == .rolledBack)
    }

    @Test(
        "a version that was rolled back stays so after an edit of rollout.json and a restart, until a PUT names it",
        arguments: ["{}", "{labels: {x: '2'}}", nil])
    func anEditAndARestartForgetNoRollBack(_ text: String?) async throws {
        let folder = try Self.folder(["1", "2"])
        let repository = try Self.repository(folder)
        await repository.loadEager()
        try await rollBack(repository)
        let file = folder.url.appendingPathComponent("m/rollout.json")
        if let text {
            try Data(text.utf8).write(to: file)
        } else {
            try FileManager.default.removeItem(at: file)
        }
        try repository.discover()
        #expect(try await answering(repository) == "1")
        let again = try Self.repository(folder)
        await again.loadEager()
        #expect(try await answering(again) == "1")
        let labels = try again.rolloutStatus(of: "m").view.machine.plan.labels
        #expect(labels == (text?.contains("labels") == true ? ["x": "2"] : [:]), "the rest of the edit counts")
        try await Self.set(Self.plan(serve: "2"), again)
        try await again.deleteRollout(of: "m")
        let last = try Self.repository(folder)
        await last.loadEager()
        #expect(try await answering(last) == "2", "a put has named it")
    }

    /// Waits for the version's model, up to a limit, because not every load is awaited.
    private func ready(_ repository: ModelRepository, _ version: String) async throws -> Model? {
        for _ in 0..<2_000 {
            if let model = try repository.readyModel(named: "m", version: version) { return model }
            try await Task.sleep(for: .milliseconds(5))
        }
        return nil
    }

    @Test("an unload removes both versions of a rollout, and a load restores both, still comparing")
    func anUnloadAndALoadKeepTheRollout() async throws {
        let folder = try Self.folder(["1", "2"])
        let repository = try Self.repository(folder)
        await repository.loadEager()
        try await Self.set(Self.plan(serve: "1", candidate: "2"), repository)
        try repository.unload("m")
        for version in [nil, "1", "2"] {
            let error = await #expect(throws: InferenceError.self) {
                try await repository.model(named: "m", version: version)
            }
            #expect(error?.message.contains("unloaded") == true, "\(version ?? "no version")")
        }
        #expect(try repository.rolloutStatus(of: "m").view.machine.state == .comparing)
        try await repository.reload("m")
        #expect(try await answering(repository) == "1")
        #expect(try await ready(repository, "2") != nil, "nobody has asked for it")
        let status = try repository.rolloutStatus(of: "m")
        #expect(status.serving == "1" && status.view.machine.state == .comparing)
        #expect(repository.comparedRollout(of: "m") != nil)
    }

    @Test("a candidate that cannot be loaded has failed, also after a restart, and is compared once it is repaired")
    func aCandidateThatIsRepairedIsCompared() async throws {
        let folder = try Self.folder(["1", "2"])
        let first = try Self.repository(folder)
        await first.loadEager()
        try await Self.set(Self.plan(serve: "1", candidate: "2"), first)
        let model = folder.url.appendingPathComponent("m/2/model.xml"), good = try Data(contentsOf: model)
        try Data("junk".utf8).write(to: model)
        for _ in 0..<2 {
            let repository = try Self.repository(folder)
            await repository.loadEager()
            #expect(try await state(repository, expecting: .failed) == .failed)
            #expect(try await answering(repository) == "1")
            #expect(repository.comparedRollout(of: "m") == nil)
        }
        let repository = try Self.repository(folder)
        await repository.loadEager()
        try good.write(to: model)
        await repository.reloadAll()
        #expect(try await state(repository, expecting: .comparing) == .comparing)
        let view = try repository.rolloutStatus(of: "m").view
        #expect(view.machine.record.reason == nil && view.comparison?.compared == 0)
        #expect(try await answering(repository) == "1")
        #expect(try await ready(repository, "2") != nil)
    }

    // MARK: Kept pictures

    /// The names of the kept pictures of the model "m".
    private static func pictures(_ state: TemporaryFolder) -> [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: state.url.path + "/differences/m")
        return (names ?? []).sorted()
    }

    @Test("kept pictures are removed by a new candidate, a plan without one, a deletion, and with the model")
    func keptPicturesGoWithTheirComparison() async throws {
        let folder = try Self.folder(["1", "2"]), state = try TemporaryFolder()
        let repository = try Self.repository(folder, state: state.url.path)
        await repository.loadEager()
        let file = folder.url.appendingPathComponent("m/rollout.json")
        func keep() {
            DifferenceFolder(path: state.url.path).keep([1], "a", of: "m", among: ["a"])
            #expect(Self.pictures(state) == ["a"])
        }
        let compared = Self.plan(serve: "1", candidate: "2")
        keep()
        try await Self.set(compared, repository)
        #expect(Self.pictures(state) == [], "a new comparison begins")
        keep()
        try repository.discover()
        #expect(Self.pictures(state) == ["a"], "nothing has changed")
        try await Self.set(Self.plan(serve: "1"), repository)
        #expect(Self.pictures(state) == [], "a plan without a candidate")
        try await Self.set(compared, repository)
        keep()
        try await repository.deleteRollout(of: "m")
        #expect(Self.pictures(state) == [], "a deletion")
        try await Self.set(compared, repository)
        keep()
        try Data("{".utf8).write(to: file)
        try repository.discover()
        #expect(Self.pictures(state) == ["a"], "a file with a mistake changes nothing")
        try Data("{serve: '1'}".utf8).write(to: file)
        try repository.discover()
        #expect(Self.pictures(state) == [], "an edit by hand")
        keep()
        try FileManager.default.removeItem(at: folder.url.appendingPathComponent("m"))
        try repository.discover()
        #expect(Self.pictures(state) == [], "the model is gone")
    }

    @Test("kept pictures of a candidate that was rolled back outlive a restart, and others do not")
    func keptPicturesOfARollBackOutliveARestart() async throws {
        let folder = try Self.folder(["1", "2"]), state = try TemporaryFolder()
        func keep() { DifferenceFolder(path: state.url.path).keep([1], "a", of: "m", among: ["a"]) }
        let repository = try Self.repository(folder, state: state.url.path)
        await repository.loadEager()
        try await Self.set(Self.plan(candidate: "2"), repository)
        keep()
        _ = try Self.repository(folder, state: state.url.path)
        #expect(Self.pictures(state) == [], "a comparison begins anew")
        try await rollBack(repository)
        keep()
        let again = try Self.repository(folder, state: state.url.path)
        #expect(Self.pictures(state) == ["a"])
        try await again.deleteRollout(of: "m")
        #expect(Self.pictures(state) == [])
        keep()
        _ = try Self.repository(folder, state: state.url.path)
        #expect(Self.pictures(state) == [], "there is no candidate")
    }

    @Test("kept pictures that are no longer listed are removed, and large pictures are not kept")
    func onlyPicturesThatAreListedAreKept() throws {
        let state = try TemporaryFolder(), folder = DifferenceFolder(path: state.url.path)
        let maximum = Comparison.maximumDifferences
        let ids = (0..<maximum + 2).map { String(format: "%02d", $0) }
        for last in ids.indices {
            let listed = Array(ids[...last].suffix(maximum))
            folder.keep([UInt8(last)], ids[last], of: "m", among: listed)
            #expect(Self.pictures(state) == listed)
        }
        folder.keep([1], "other", of: "m", among: ids)
        folder.keep([UInt8](repeating: 0, count: (20 << 20) + 1), "large", of: "m", among: ids + ["large"])
        #expect(Self.pictures(state) == Array(ids.suffix(maximum)))
    }
}
