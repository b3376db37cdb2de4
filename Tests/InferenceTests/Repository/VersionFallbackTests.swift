import Foundation
import Inference
internal import Repository
import Synchronization
import TestSupport
import Testing

/// The version that serves if another one cannot be loaded: the highest good one, after a reload and after a start.
@Suite(.timeLimit(.minutes(2))) struct VersionFallbackTests {
    /// Versions of the model m, some of which fail in their load checks.
    private struct Scene {
        let folder: TemporaryFolder
        let repository: ModelRepository
        let events = RepositoryEvents()
        private let bad: Bad

        /// The versions that fail.
        private final class Bad: Sendable {
            let versions = Mutex<Set<String>>([])
        }

        init(
            _ versions: ClosedRange<Int>, bad: Set<Int>, policy: LoadPolicy = .eager,
            retryTime: Duration = .seconds(3_600)
        ) throws {
            folder = try TemporaryFolder()
            let list = Bad()
            self.bad = list
            for version in versions { try folder.write(["m/\(version)/m.onnx": "\(version)"]) }
            var configuration = ModelConfiguration()
            configuration.engine = FakeEngine()
            configuration.loadCheck = LoadCheck(remembering: nil, circumstances: UUID().uuidString) { path in
                let isBad = list.versions.withLock { $0.contains { path.hasSuffix("/m/\($0)/m.onnx") } }
                return isBad ? .lost("the engine crashed") : .good(compiledAnew: true)
            }
            repository = ModelRepository(
                folders: [folder.url.path], configuration: configuration, defaultPolicy: policy,
                retryTime: retryTime, reader: .disk, onEvent: events.add)
            fail(bad)
            try repository.discover()
        }

        func fail(_ versions: Set<Int>) { bad.versions.withLock { $0 = Set(versions.map(String.init)) } }

        var answering: String? {
            get async throws { try await repository.model(named: "m").description.version }
        }
        var states: [String] { repository.records.map(\.state.name) }
    }

    @Test("at a start the highest version that passes its load check is loaded")
    func atAStartTheHighestGoodVersionIsLoaded() async throws {
        let scene = try Scene(1...4, bad: [3, 4])
        await scene.repository.loadEager()
        #expect(scene.events.all == ["failed m 4", "failed m 3", "loaded m 2"])
        #expect(scene.states == ["unloaded", "ready", "failed", "failed"])
        #expect(try await scene.answering == "2")
        for condition in [ReadyCondition.all, .any, .models(["m"])] {
            #expect(scene.repository.isReady(when: condition))
        }
    }

    @Test("a model whose versions all fail is not ready, and requests fail")
    func aModelWithoutAGoodVersionIsNotReady() async throws {
        let scene = try Scene(1...2, bad: [1, 2])
        await scene.repository.loadEager()
        #expect(scene.events.all == ["failed m 2", "failed m 1"])
        for condition in [ReadyCondition.all, .any, .models(["m"])] {
            #expect(scene.repository.missing(for: condition).map { $0.state?.name } == ["failed"])
        }
        await #expect(throws: InferenceError.self) { _ = try await scene.answering }
    }

    @Test("a new version that fails leaves the model ready with the previous version, until repaired")
    func aNewVersionThatFailsLeavesTheModelReady() async throws {
        let scene = try Scene(1...2, bad: [])
        await scene.repository.loadEager()
        try scene.folder.write(["m/3/m.onnx": "3"])
        scene.fail([3])
        try scene.repository.discover()
        await scene.repository.reloadAll()
        #expect(scene.states == ["unloaded", "ready", "failed"])
        #expect(try await scene.answering == "2")
        #expect(scene.repository.isReady())
        #expect(scene.events.all == ["loaded m 2", "unchanged m 2", "failed m 3"])
        // Once repaired, it serves after the next reload.
        scene.fail([])
        await scene.repository.reloadAll()
        #expect(try await scene.answering == "3")
    }

    /// Of several versions that have failed, the repaired one serves, although a higher one still fails.
    @Test("a repaired version serves after a reload, even below a version that still fails")
    func aRepairedVersionBelowABadOneServesAfterAReload() async throws {
        let scene = try Scene(1...4, bad: [3, 4])
        await scene.repository.loadEager()
        await scene.repository.reloadAll()
        #expect(scene.states == ["unloaded", "ready", "failed", "failed"], "both are still shown")
        scene.fail([4])
        await scene.repository.reloadAll()
        #expect(scene.states == ["unloaded", "ready", "ready", "failed"])
        #expect(try await scene.answering == "3")
    }

    /// The serving version is removed while the one above it fails: one that was never loaded replaces it.
    @Test(
        "when the serving version is removed and a higher version fails, the next good version serves",
        arguments: [LoadPolicy.eager, .lazy])
    func whereTheServingVersionIsRemovedTheNextGoodOneServes(_ policy: LoadPolicy) async throws {
        let scene = try Scene(1...2, bad: [], policy: policy)
        await scene.repository.loadEager()
        #expect(try await scene.answering == "2")
        scene.fail([3])
        try scene.folder.write(["m/3/m.onnx": "3"])
        try FileManager.default.removeItem(atPath: scene.folder.url.path + "/m/2")
        try scene.repository.discover()
        await scene.repository.reloadAll()
        #expect(try await scene.answering == "1")
        #expect(scene.repository.isReady() && scene.repository.isReady(when: .models(["m"])))
    }

    @Test("a request for a lazy model gets the highest version that can be loaded")
    func aRequestForALazyModelGetsTheHighestGoodVersion() async throws {
        let scene = try Scene(1...3, bad: [2, 3], policy: .lazy)
        #expect(try await scene.answering == "1")
        #expect(try await scene.answering == "1")
        #expect(scene.events.all == ["failed m 3", "failed m 2", "loaded m 1"])
        await #expect(throws: InferenceError.self, "the one that is asked for, or none") {
            _ = try await scene.repository.model(named: "m", version: "3")
        }
    }

    /// The highest version fails for a temporary reason: the lower one answers until it is loaded, without a reload.
    @Test("a lazy version that failed is tried again after the retry time, without a reload")
    func aLazyVersionThatFailedIsTriedAgainAfterAWhile() async throws {
        let scene = try Scene(1...2, bad: [2], policy: .lazy, retryTime: .zero)
        #expect(try await scene.answering == "1")
        scene.fail([])
        var answering = "1"
        for _ in 0..<2_000 where answering != "2" {
            answering = try await scene.answering ?? ""
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(answering == "2")
        #expect(scene.states == ["ready", "ready"])
        #expect(eventually { scene.events.all.last == "loaded m 2" })
    }

    @Test("a lazy version that failed is not tried again before the retry time")
    func aLazyVersionThatFailedIsNotTriedAgainAtOnce() async throws {
        let scene = try Scene(1...2, bad: [2], policy: .lazy)
        #expect(try await scene.answering == "1")
        scene.fail([])
        #expect(try await scene.answering == "1")
        #expect(scene.events.all == ["failed m 2", "loaded m 1"])
        #expect(scene.states == ["ready", "failed"])
    }

    /// A load on request reports that the highest version failed; a good version serves nevertheless.
    @Test("a load on request reports that the highest version failed, and a lower version serves")
    func aLoadOnRequestReportsTheFailureAndServesWhatIsGood() async throws {
        let scene = try Scene(1...2, bad: [])
        await scene.repository.loadEager()
        try scene.repository.unload("m")
        // Another file, because a file that has passed its load check is not checked again.
        try scene.folder.write(["m/2/m.onnx": "22"])
        scene.fail([2])
        await #expect(throws: InferenceError.self) { try await scene.repository.reload("m") }
        #expect(try await scene.answering == "1")
        #expect(scene.repository.isReady())
    }
}
