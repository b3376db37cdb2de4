import Foundation
import Inference
internal import Repository
import Testing

/// The default model of a request without a model name.
@Suite(.timeLimit(.minutes(2))) struct DefaultModelTests {
    /// Adding a model does not change the default of a route; removing the default does, and is reported.
    @Test("an added model does not change the default classifier; removing the default does, and is reported")
    func theDefaultStays() async throws {
        let folder = try TemporaryFolder()
        let classifier = """
            { "name": "m", "id": "m", "version": "1", "model": { "file": "m.onnx", "backend": "onnx" },
              "inputs": [ { "name": "x", "type": "image", "shape": [2, 2, 1], "format": "GRAY" } ],
              "outputs": [ { "name": "y", "type": "array", "shape": [1, 4], "labels": "labels.txt" } ],
              "runtime": { "load": "lazy" } }
            """
        let labels = "a\nb\nc\nd\n"
        try folder.write(["m/model.json": classifier, "m/m.onnx": "", "m/labels.txt": labels])
        let (repository, _) = try Bundles.repository(folder)
        #expect(repository.defaultClassifier == "m" && repository.resolveDefault() == nil)
        try folder.write(["a/model.json": classifier, "a/m.onnx": "", "a/labels.txt": labels])
        try repository.discover()
        #expect(repository.defaultClassifier == "m" && repository.resolveDefault() == nil)
        try FileManager.default.removeItem(at: folder.url.appendingPathComponent("m"))
        try repository.discover()
        let change = repository.resolveDefault()
        #expect(change?.before == "m" && change?.now == "a")
        #expect(repository.resolveDefault() == nil)
    }

    /// A model.json with `$decide` is incomplete: its model serves only requests that name it.
    @Test("a model whose model.json contains $decide is not the default, and is served by its name")
    func anUnfinishedModelIsNotTheDefault() async throws {
        let folder = try TemporaryFolder()
        func classifier(_ mark: String, load: String) -> String {
            """
            { "name": "m", "id": "m", "version": "1", "model": { "file": "m.onnx", "backend": "onnx" },
              "inputs": [ { "name": "x", "type": "image", "shape": [2, 2, 1], "format": "GRAY"\(mark) } ],
              "outputs": [ { "name": "y", "type": "array", "shape": [1, 4], "labels": "labels.txt" } ],
              "runtime": { "load": "\(load)" } }
            """
        }
        let mark = #", "$decide": "normalize: [0,1] or [-1,1]""#, labels = "a\nb\nc\nd\n"
        for load in ["lazy", "eager"] {
            try folder.write([
                "a/model.json": classifier(mark, load: load), "a/m.onnx": "", "a/labels.txt": labels,
            ])
            let engine = FakeEngine(inputs: [TensorPort(name: "x", elementType: .float32, shape: [1, 2, 2, 1])])
            let (repository, _) = try Bundles.repository(folder, engine: engine)
            await repository.loadEager()
            #expect(repository.defaultClassifier == nil)
            #expect(repository.defaultModel(for: .classification) == .undecided("a"))
            let model = try await repository.model(named: "a")
            #expect(model.loadReport.undecided == ["inputs[0]: normalize: [0,1] or [-1,1]"])
            #expect(repository.defaultClassifier == nil)
            try folder.write([
                "b/model.json": classifier("", load: load), "b/m.onnx": "", "b/labels.txt": labels,
            ])
            try repository.discover()
            await repository.loadEager()
            #expect(repository.defaultClassifier == "b")
            try FileManager.default.removeItem(at: folder.url.appendingPathComponent("b"))
        }
    }

    /// A lack of threads, for example, is temporary: meanwhile another model would silently answer with other labels.
    @Test("the default classifier stays while threads for its load are lacking; an unload changes the default")
    func theDefaultStaysWhereItCannotBeLoadedForAWhile() async throws {
        let folder = try TemporaryFolder()
        func write(_ name: String, load: String) throws {
            let classifier = """
                { "name": "m", "id": "m", "version": "1", "model": { "file": "m.onnx", "backend": "onnx" },
                  "inputs": [ { "name": "x", "type": "image", "shape": [2, 2, 1], "format": "GRAY" } ],
                  "outputs": [ { "name": "y", "type": "array", "shape": [1, 4], "labels": "labels.txt" } ],
                  "runtime": { "load": "\(load)" } }
                """
            try folder.write([
                "\(name)/model.json": classifier, "\(name)/m.onnx": "", "\(name)/labels.txt": "a\nb\nc\nd\n",
            ])
        }
        try write("a", load: "lazy")
        try write("b", load: "eager")
        let engine = FakeEngine(
            inputs: [TensorPort(name: "x", elementType: .float32, shape: [1, 2, 2, 1])], maximumModels: 2)
        let (repository, _) = try Bundles.repository(folder, engine: engine, idle: .nanoseconds(1))
        await repository.loadEager()
        _ = try await repository.model(named: "a")
        #expect(repository.resolveDefault() == nil && repository.defaultClassifier == "a")
        repository.unloadIdle()
        #expect(repository.defaultClassifier == "a")
        // Another model uses its threads now.
        try write("c", load: "eager")
        try repository.discover()
        await repository.loadEager()
        await #expect(throws: InferenceError.self) { _ = try await repository.model(named: "a") }
        #expect(repository.defaultClassifier == "a" && repository.resolveDefault() == nil)
        // An unload is intentional.
        try repository.unload("a")
        #expect(repository.defaultClassifier == "b")
    }
}
