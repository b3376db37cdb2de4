import Foundation
import Inference
import TestSupport
import Testing

/// Embedders as exported by transformers and others: which output is the embedding, and how it is pooled.
@Suite struct EmbedderFoldersTests {
    private static let picture = SharedData.packageRoot.appendingPathComponent("examples/seven.png")
    private static let processor = #"{"image_processor_type": "ViTImageProcessor", "size": 32}"#
    private static let dino = #"{"architectures": ["Dinov2Model"]}"#

    /// Loads a folder with a model that returns 0, 1, 2, … in every output.
    private static func load(
        _ files: [String: String], outputs: [(String, Shape)] = [("last_hidden_state", [1, 5, 4])]
    ) async throws -> Model {
        let folder = try TemporaryFolder()
        let path = try folder.write(["model.onnx": ""].merging(files) { $1 })
        var configuration = ModelConfiguration()
        let maximum = outputs.compactMap { $0.1.elementCount }.max() ?? 0
        configuration.engine = FakeEngine(
            inputs: [TensorPort(name: "pixel_values", elementType: .float32, shape: [-1, 3, 32, 32])],
            outputs: outputs.map { TensorPort(name: $0.0, elementType: .float32, shape: $0.1) },
            answer: (0..<maximum).map(Float.init).withUnsafeBytes { Array($0) })
        return try await Model.load(contentsOf: path, configuration: configuration)
    }

    private static func embedding(_ model: Model) async throws -> [Float] {
        let image = EncodedImage(Array(try Data(contentsOf: picture)))
        let found = try await model.observations(of: image, request: ObservationRequest(task: .embed))
        guard case .embedding(let values) = found.content else { throw CancellationError() }
        return values
    }

    private static func unit(_ values: [Float]) -> [Float] {
        let length = values.reduce(0.0) { $0 + Double($1) * Double($1) }.squareRoot()
        return values.map { Float(Double($0) / length) }
    }

    @Test("a folder whose files state the pooling uses it")
    func poolingOfFolders() async throws {
        let first: [Float] = [0, 1, 2, 3], mean: [Float] = [8, 9, 10, 11]
        let pooling = "1_Pooling/config.json"
        for (files, expected) in [
            (["config.json": Self.dino], first),
            (["config.json": #"{"architectures": ["SwinModel"]}"#], mean),
            (["config.json": Self.dino, pooling: #"{"pooling_mode_mean_tokens": true}"#], mean),
            ([pooling: #"{"pooling_mode": "cls"}"#], first),
        ] {
            let model = try await Self.load(files.merging(["preprocessor_config.json": Self.processor]) { $1 })
            #expect(model.tasks == [.embed] && model.embeddingDimension == 4, "\(files)")
            #expect(try await Self.embedding(model) == Self.unit(expected), "\(files)")
            #expect(model.loadReport.advice == [] && model.provenance?.missing == [], "\(files)")
            #expect(model.provenance?.lines.contains { $0.name == "outputs.pooling" } == true)
        }
    }

    @Test("an output that the model has pooled itself is used unchanged")
    func pooledOutputs() async throws {
        let files = ["config.json": Self.dino, "preprocessor_config.json": Self.processor]
        let outputs: [(String, Shape)] = [("last_hidden_state", [1, 5, 4]), ("pooler_output", [1, 20])]
        let model = try await Self.load(files, outputs: outputs)
        #expect(try await Self.embedding(model) == Self.unit((0..<20).map(Float.init)))
        #expect(model.loadReport.advice == [])
        let maps = try await Self.load(
            files, outputs: [("last_hidden_state", [1, 5, 2, 2]), ("pooler_output", [1, 20, 1, 1])])
        #expect(try await Self.embedding(maps) == Self.unit((0..<20).map(Float.init)))
    }

    @Test("without a pooling all numbers are the embedding, with a warning, and the pooling is left open")
    func unknownPooling() async throws {
        let files = [
            "config.json": #"{"architectures": ["CLIPVisionModel"]}"#, "preprocessor_config.json": Self.processor,
        ]
        let model = try await Self.load(files)
        #expect(try await Self.embedding(model).count == 20)
        #expect(model.loadReport.advice.count == 1 && model.loadReport.advice[0].contains("set \"pooling\" to \"cls\""))
        #expect(
            model.provenance?.missing.contains { $0.contains("\"last_hidden_state\" [1,5,4] become one") } == true)
        let other = try await Self.load(files.merging(["1_Pooling/config.json": #"{"pooling_mode": "max"}"#]) { $1 })
        #expect(other.tasks == [])
        #expect(other.provenance?.missing.contains { $0.contains("pooling_mode: max, is not supported") } == true)
    }

    private static func manifest(_ output: String) -> [String: String] {
        [
            "model.json": """
            { "name": "n", "id": "n", "version": "1", "model": { "file": "model.onnx", "backend": "onnx" },
              "inputs": [ { "name": "pixel_values", "type": "image", "format": "RGB", "layout": "NCHW", "shape": [32, 32, 3] } ],
              "outputs": [ { "name": "last_hidden_state", "type": "embedding"\(output) } ] }
            """
        ]
    }

    @Test("the pooling of model.json is used, and is a problem if it does not fit the tensor")
    func poolingOfModelJSON() async throws {
        let cls = try await Self.load(Self.manifest(#", "pooling": "cls", "normalize": "none""#))
        #expect(try await Self.embedding(cls) == [0, 1, 2, 3])
        #expect(cls.loadReport.advice == [] && cls.embeddingDimension == 4)
        let map = try await Self.load(
            Self.manifest(#", "pooling": "mean", "channels": "last", "normalize": "none""#),
            outputs: [("last_hidden_state", [1, 2, 2, 3])])
        #expect(try await Self.embedding(map) == [4.5, 5.5, 6.5])
        let unsaid = try await Self.load(Self.manifest(""), outputs: [("last_hidden_state", [1, 257, 384])])
        #expect(unsaid.loadReport.advice.contains { $0.contains("98688 numbers") && $0.contains("8192") })
        let all = try await Self.load(Self.manifest(#", "pooling": "none""#))
        #expect(all.loadReport.advice == [] && all.embeddingDimension == 20)
        let misfit = await #expect(throws: InferenceError.self) {
            try await Self.load(Self.manifest(#", "pooling": "cls""#), outputs: [("last_hidden_state", [1, 8])])
        }
        #expect(misfit?.message.contains("expected [1, tokens, width], for \"pooling\": \"cls\", found [1, 8]") == true)
        let unknown = await #expect(throws: InferenceError.self) {
            try await Self.load(Self.manifest(#", "pooling": "max""#))
        }
        #expect(unknown?.message.contains("expected one of \"cls\", \"mean\", \"none\"") == true)
    }
}
