import Foundation
import Inference
internal import Repository
import Testing

/// Models that are unloaded, on request or because they are idle, and when they are loaded again.
@Suite(.timeLimit(.minutes(2))) struct UnloadTests {
    @Test("a model that is unloaded on request comes back only by a load on request")
    func anUnloadedModelComesBackOnlyWhenItIsLoaded() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        let (repository, events) = try Bundles.repository(folder)
        await repository.loadEager()
        try repository.unload("m")
        #expect(repository.records.first?.state == .unloaded)
        let error = await #expect(throws: InferenceError.self) { _ = try await repository.model(named: "m") }
        #expect(error?.message.contains("unloaded") == true)
        // Neither reloads nor discoveries load it, even if its files change.
        try folder.write(["m/model.json": Bundles.manifest(version: "2")])
        try repository.discover()
        await repository.reloadAll()
        #expect(events.all == ["loaded m 1", "unloaded m 1", "held back m 2"])
        #expect(repository.records.first?.state == .unloaded)
        #expect(repository.isReady(), "an unloaded model is not waited for")
        try await repository.reload("m")
        #expect(try await repository.model(named: "m").description.version == "2")
    }

    @Test("all versions of an unloaded model, including added ones, stay unloaded until a load on request")
    func allVersionsOfAnUnloadedModelStayAwayAndComeBackTogether() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/1/m.onnx": "", "m/2/m.onnx": ""])
        let (repository, events) = try Bundles.repository(folder)
        await repository.loadEager()
        _ = try await repository.model(named: "m", version: "1")
        try repository.unload("m")
        // A version that is added meanwhile belongs to the unloaded model.
        try folder.write(["m/3/m.onnx": ""])
        try repository.discover()
        await repository.reloadAll()
        await #expect(throws: InferenceError.self) { _ = try await repository.model(named: "m") }
        #expect(
            events.all == [
                "loaded m 2", "loaded m 1", "unloaded m 1", "unloaded m 2", "held back m 1", "held back m 2",
                "held back m 3",
            ])
        try await repository.reload("m")
        #expect(try await repository.model(named: "m").description.version == "3")
        #expect(try await repository.model(named: "m", version: "1").description.version == "1")
    }

    @Test("an idle lazy model is unloaded, and comes back with the next request")
    func anIdleLazyModelIsUnloaded() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        let (repository, events) = try Bundles.repository(folder, policy: .lazy, idle: .nanoseconds(1))
        _ = try await repository.model(named: "m")
        try await Task.sleep(for: .milliseconds(2))
        repository.unloadIdle()
        #expect(events.all == ["loaded m 1", "unloaded m 1"])
        _ = try await repository.model(named: "m")
        #expect(events.all.count == 3, "it comes back by itself")
    }

    @Test("an idle eager model stays loaded")
    func anEagerModelIsKept() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        let (repository, events) = try Bundles.repository(folder, idle: .nanoseconds(1))
        await repository.loadEager()
        try await Task.sleep(for: .milliseconds(2))
        repository.unloadIdle()
        #expect(events.all == ["loaded m 1"])
        #expect(repository.records.first?.state == .ready)
    }
}
