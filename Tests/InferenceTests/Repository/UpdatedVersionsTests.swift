import Foundation
import Inference
internal import Repository
import Synchronization
import SystemSupport
import TestSupport
import Testing

/// Model versions created by updates: their order, their files, and the version that serves. The files are
/// those of Tests/Fixtures/updatable.
@Suite(.timeLimit(.minutes(2))) struct UpdatedVersionsTests {
    private static let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/updatable")

    /// A model folder, a folder of updates, and the number of bytes in files of updates.
    private final class Scene: Sendable {
        let models: TemporaryFolder, taught: TemporaryFolder
        let taken = Mutex(0)
        let maximum: Int

        init(_ files: [String: String], maximum: Int = .max) throws {
            (models, taught) = (try TemporaryFolder(), try TemporaryFolder())
            self.maximum = maximum
            for (file, fixture) in files {
                let target = models.url.appendingPathComponent(file)
                try FileManager.default.createDirectory(
                    at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
                try FileManager.default.copyItem(at: fixtures.appendingPathComponent(fixture), to: target)
            }
        }

        var updates: URL { taught.url.appendingPathComponent(".updates") }

        /// A repository as at the start of a daemon.
        func repository(policy: LoadPolicy = .eager) async throws -> (ModelRepository, RepositoryEvents) {
            let events = RepositoryEvents()
            var configuration = ModelConfiguration()
            configuration.links = .within([models.url.path, updates.path])
            let repository = ModelRepository(
                folders: [models.url.path], configuration: configuration, defaultPolicy: policy, onEvent: events.add)
            repository.keepUpdates(in: ModelRepository.updatesFolder(in: taught.url.path))
            try repository.discover()
            await repository.loadEager()
            return (repository, events)
        }

        func room(versions: Int = 10) -> ModelRepository.UpdateBudget {
            ModelRepository.UpdateBudget(
                versions: versions,
                take: { [self] bytes in
                    taken.withLock { taken in
                        guard bytes <= maximum - taken else { return .full("no room for \(bytes) bytes") }
                        taken += bytes
                        return nil
                    }
                }, give: { [self] bytes in taken.withLock { $0 -= bytes } })
        }

        /// The total size of the updates' files.
        var bytes: Int {
            let files = (try? FileManager.default.subpathsOfDirectory(atPath: updates.path)) ?? []
            return files.reduce(0) { sum, file in
                let status = try? FileManager.default.attributesOfItem(atPath: updates.path + "/" + file)
                guard status?[.type] as? FileAttributeType == .typeRegular else { return sum }
                return sum + ((status?[.size] as? NSNumber)?.intValue ?? 0)
            }
        }

        func names(_ path: String = "") -> [String] {
            ((try? FileManager.default.contentsOfDirectory(atPath: updates.appendingPathComponent(path).path)) ?? [])
                .sorted()
        }
    }

    /// Makes one update with one example. Returns its version.
    @discardableResult
    private func update(
        _ name: String, in repository: ModelRepository, _ room: ModelRepository.UpdateBudget,
        deadline: MonotonicInstant? = nil
    ) async throws -> String {
        let source = try repository.updateSource(of: name)
        let updater = try await repository.updater(for: source)
        var examples = ModelUpdater.Examples()
        let numbers = try MultiArray(shape: Shape([6]), floats: [0.5, -0.5, 1, 2, 0, 1])
        let inputs: DictionaryFeatureProvider = ["x": .multiArray(numbers)]
        try await updater.add(inputs, .text("bolt"), to: &examples, options: PredictionOptions())
        let outcome = try await updater.updated(with: examples, plan: updater.plan(ModelUpdater.Choices()))
        return try await repository.serve(outcome, of: source, by: updater, room, deadline: deadline)
    }

    @Test("versions are ordered by the numbers of their parts: 3, 3.1, 3.2, 3.10, 4")
    func versionsAreOrderedByTheirNumbers() {
        let sorted = ["3", "3.1", "3.2", "3.10", "3.10.1", "4", "10", "latest", "latest.2"]
        for seed in 0..<20 {
            var generator = SplitMix(seed: UInt64(seed))
            let shuffled = sorted.shuffled(using: &generator)
            #expect(shuffled.sorted { VersionOrder($0) < VersionOrder($1) } == sorted, "seed \(seed)")
        }
    }

    @Test("an update serves as the next version, also after a restart, and later updates build on it")
    func anUpdateServesAndTheNextGoesOnFromIt() async throws {
        let scene = try Scene(["d.mlmodel": "dense-classifier.mlmodel"])
        let original = try Data(contentsOf: scene.models.url.appendingPathComponent("d.mlmodel"))
        let (repository, events) = try await scene.repository()
        #expect(try await update("d", in: repository, scene.room()) == "1.1")
        #expect(try await update("d", in: repository, scene.room()) == "1.2")
        #expect(repository.records.map(\.version) == ["1", "1.1", "1.2"])
        #expect(repository.records.map(\.state.name) == ["unloaded", "unloaded", "ready"])
        #expect(try await repository.model(named: "d").description.version == "1.2")
        #expect(try await repository.model(named: "d", version: "1").description.version == "1")
        #expect(
            events.all == [
                "loaded d 1", "loaded d 1.1", "unloaded d 1", "loaded d 1.2", "unloaded d 1.1", "loaded d 1",
            ])
        #expect(try Data(contentsOf: scene.models.url.appendingPathComponent("d.mlmodel")) == original)
        let files = try ["1.1", "1.2"].map {
            try Data(contentsOf: scene.updates.appendingPathComponent("d/\($0)/d.mlmodel"))
        }
        #expect(files[0] != original && files[1] != files[0])
        #expect(scene.names() == ["d"] && scene.taken.withLock { $0 } == files.reduce(0) { $0 + $1.count })

        // As after a start, and with a later version from the operator.
        let (again, told) = try await scene.repository()
        #expect(told.all == ["loaded d 1.2"])
        #expect(try again.updateSource(of: "d").version == "1.2")
        try FileManager.default.removeItem(at: scene.models.url.appendingPathComponent("d.mlmodel"))
        try again.discover()
        #expect(again.names == [], "an update is nothing without the model")
    }

    @Test("a higher version that the operator adds serves, and the next update starts from there")
    func aLaterVersionOfTheModelCounts() async throws {
        let scene = try Scene(["d/3/m.mlmodel": "dense-classifier.mlmodel"])
        let (repository, _) = try await scene.repository()
        #expect(try await update("d", in: repository, scene.room()) == "3.1")
        try FileManager.default.createDirectory(
            at: scene.models.url.appendingPathComponent("d/4"), withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            at: Self.fixtures.appendingPathComponent("dense-classifier.mlmodel"),
            to: scene.models.url.appendingPathComponent("d/4/m.mlmodel"))
        try repository.discover()
        await repository.reloadAll()
        #expect(try await repository.model(named: "d").description.version == "4")
        #expect(try await update("d", in: repository, scene.room()) == "4.1")
        #expect(repository.records.map(\.version) == ["3", "3.1", "4", "4.1"])
    }

    @Test("an update copies the whole bundle: labels in folders, links as files, no hidden files")
    func aBundleIsCopiedWhole() async throws {
        let scene = try Scene(["b/net.mlmodel": "dense-classifier.mlmodel"])
        let manifest = """
            // By hand
            { "name": "b", "id": "b", "version": "2.0", "model": { "file": "net.mlmodel", "backend": "coreml" } }
            """
        try scene.models.write([
            "b/model.json": manifest, "b/..data/labels.txt": "one", "b/assets/more.txt": "two",
        ])
        try FileManager.default.createSymbolicLink(
            atPath: scene.models.url.path + "/b/assets/labels.txt", withDestinationPath: "../..data/labels.txt")
        let (repository, _) = try await scene.repository()
        #expect(try await update("b", in: repository, scene.room()) == "2.0.1")
        #expect(scene.names("b/2.0.1") == ["assets", "model.json", "net.mlmodel"])
        #expect(scene.names("b/2.0.1/assets") == ["labels.txt", "more.txt"])
        let copy = scene.updates.appendingPathComponent("b/2.0.1/assets/labels.txt")
        #expect(
            try FileManager.default.attributesOfItem(atPath: copy.path)[.type] as? FileAttributeType == .typeRegular)
        #expect(try String(contentsOf: copy, encoding: .utf8) == "one")
        #expect(try await repository.model(named: "b").description.version == "2.0.1")
        #expect(scene.taken.withLock { $0 } == scene.bytes)
    }

    @Test("the oldest updates beyond the number to keep are deleted")
    func theOldestUpdatesAreDropped() async throws {
        let scene = try Scene(["d.mlmodel": "dense-classifier.mlmodel"])
        let (repository, _) = try await scene.repository()
        for _ in 0..<4 { try await update("d", in: repository, scene.room(versions: 2)) }
        #expect(scene.names("d") == ["1.3", "1.4"])
        #expect(repository.records.map(\.version) == ["1", "1.3", "1.4"])
        #expect(scene.taken.withLock { $0 } == scene.bytes)
        #expect(try await update("d", in: repository, scene.room(versions: 1)) == "1.5")
        #expect(scene.names("d") == ["1.5"] && scene.names() == ["d"])
    }

    @Test("an update without space or past its deadline keeps nothing and changes nothing")
    func whatDoesNotFinishIsNotKept() async throws {
        let scene = try Scene(["d.mlmodel": "dense-classifier.mlmodel"], maximum: 1)
        let (repository, _) = try await scene.repository()
        await #expect { try await update("d", in: repository, scene.room()) } throws: { error in
            (error as? UpdateError)?.message.hasPrefix("no room for ") == true
        }
        #expect(scene.names() == [])
        let other = try Scene(["d.mlmodel": "dense-classifier.mlmodel"])
        let (late, _) = try await other.repository()
        await #expect(throws: UpdateError.self) { try await update("d", in: late, other.room(), deadline: .now) }
        #expect(other.names() == [] && other.taken.withLock { $0 } == 0)
        #expect(late.records.map(\.version) == ["1"])
        #expect(try await late.model(named: "d").description.version == "1")
    }

    @Test("an update that a kill left unfinished is removed at the start and never served")
    func whatAKillLeftIsRemovedAndNeverServed() async throws {
        let scene = try Scene(["d.mlmodel": "dense-classifier.mlmodel"])
        let left = scene.updates.appendingPathComponent(".unfinished-d-1.1")
        try FileManager.default.createDirectory(at: left, withIntermediateDirectories: true)
        try Data("half".utf8).write(to: left.appendingPathComponent("d.mlmodel"))
        let (repository, events) = try await scene.repository()
        #expect(scene.names() == [] && events.all == ["loaded d 1"])
        #expect(repository.records.map(\.version) == ["1"])
    }

    /// A new version that cannot be loaded leaves the previous one serving.
    @Test("if an update is damaged, the previous version serves, and the next update has a new number")
    func aDamagedUpdateFallsBack() async throws {
        let scene = try Scene(["d.mlmodel": "dense-classifier.mlmodel"])
        let (repository, _) = try await scene.repository()
        try await update("d", in: repository, scene.room())
        try Data("junk".utf8).write(to: scene.updates.appendingPathComponent("d/1.1/d.mlmodel"))
        let (again, events) = try await scene.repository()
        #expect(events.all == ["failed d 1.1", "loaded d 1"])
        #expect(try again.updateSource(of: "d").version == "1")
        #expect(try await update("d", in: again, scene.room()) == "1.2")
    }

    @Test("an update of a model that is not updatable fails with the reason")
    func whatIsNotUpdatableSaysSo() async throws {
        let scene = try Scene([:])
        try FileManager.default.copyItem(
            at: SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/coreml/product/colors.mlmodel"),
            to: scene.models.url.appendingPathComponent("colors.mlmodel"))
        let (repository, _) = try await scene.repository()
        await #expect { try await update("colors", in: repository, scene.room()) } throws: { error in
            (error as? UpdateError)?.message.hasPrefix("model \"colors\" cannot be updated: the model is not updatable")
                == true
        }
    }
}
