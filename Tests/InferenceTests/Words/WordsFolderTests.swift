import Foundation
import Inference
internal import Observations
internal import Repository
import TestSupport
import Testing

/// Folders with models that embed texts, as publishers have them.
@Suite struct WordsFolderTests {
    private static func network(_ inputs: [String], _ outputs: [String]) -> Data {
        ONNXFile(
            outputs.map { ONNXFile.Node("Identity", [inputs[0]], [$0]) }, inputs: inputs.map { ($0, [-1, -1]) },
            outputs: outputs.map { ($0, [-1, -1]) }
        ).bytes
    }

    private static func folder(_ networks: [String: Data], _ others: [String: String] = [:]) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try folder.write(["tokenizer.json": "{}", "config.json": "{}"].merging(others) { $1 })
        for (name, data) in networks {
            let file = folder.url.appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try data.write(to: file)
        }
        return folder
    }

    private static let texts = network(["input_ids"], ["text_embeds"])
    private static let pictures = network(["pixel_values"], ["image_embeds"])
    private static let both = network(["input_ids", "pixel_values"], ["text_embeds", "image_embeds"])
    private static let tokens = network(["input_ids", "attention_mask"], ["last_hidden_state"])
    private static let mean = ["1_Pooling/config.json": #"{"pooling_mode_mean_tokens": true}"#]

    @Test(
        "two sides are found at the top and among the exports, also with the same suffix; a file with both is one model",
        arguments: [
            (
                ["text_model.onnx", "vision_model.onnx"],
                .split(pictures: "vision_model.onnx", texts: "text_model.onnx")
            ),
            (
                ["onnx/text_model.onnx", "onnx/vision_model.onnx", "onnx/model.onnx", "onnx/text_model_q4.onnx"],
                .split(pictures: "onnx/vision_model.onnx", texts: "onnx/text_model.onnx")
            ),
            (
                ["onnx/text_model_quantized.onnx", "onnx/vision_model_quantized.onnx"],
                .split(pictures: "onnx/vision_model_quantized.onnx", texts: "onnx/text_model_quantized.onnx")
            ),
            (["model.onnx"], .whole("model.onnx")), (["onnx/model.onnx"], .whole("onnx/model.onnx")),
        ] as [([String], WordsDescription.Layout)])
    func pairs(_ names: [String], _ layout: WordsDescription.Layout) throws {
        let networks = names.map { name in
            (name, name.contains("text") ? Self.texts : name.contains("vision") ? Self.pictures : Self.both)
        }
        let folder = try Self.folder(Dictionary(uniqueKeysWithValues: networks))
        let bundle = try ModelBundle(path: folder.url.path)
        #expect(bundle.words?.layout == layout)
        #expect(try Bundles.repository(folder).0.names == [folder.url.lastPathComponent])
    }

    @Test("a text model needs a pooling that its files state; without one it is served as tensors")
    func textModels() throws {
        let folder = try Self.folder(["model.onnx": Self.tokens], Self.mean)
        let words = try #require(try ModelBundle(path: folder.url.path).words)
        #expect(words.layout == .texts("model.onnx"))
        #expect(words.texts.poolings == [.mean] && !words.texts.isNormalized)
        let plain = try Self.folder(["model.onnx": Self.tokens])
        #expect(try ModelBundle(path: plain.url.path).words == nil)
        let pooled = try Self.folder(["model.onnx": Self.network(["input_ids"], ["sentence_embedding"])])
        #expect(try ModelBundle(path: pooled.url.path).words?.layout == .texts("model.onnx"))
    }

    @Test("modules that are not in the network are refused by their names")
    func modules() throws {
        let modules =
            #"[{"type": "sentence_transformers.models.Transformer", "path": ""}, {"type": "x.Dense", "path": "2"}]"#
        let folder = try Self.folder(["model.onnx": Self.tokens], Self.mean.merging(["modules.json": modules]) { $1 })
        let error = #expect(throws: InferenceError.self) { try ModelBundle(path: folder.url.path) }
        #expect(error?.message.contains("x.Dense") == true, "\(error?.message ?? "")")
    }

    @Test(
        "the longest text is stated by sentence-transformers, else by the tokenizer, and never above the positions",
        arguments: [
            (#"{"max_seq_length": 40}"#, #"{"model_max_length": 60}"#, #"{"max_position_embeddings": 64}"#, nil, 40),
            ("{}", #"{"model_max_length": 60}"#, #"{"max_position_embeddings": 64}"#, 20, 60),
            ("{}", #"{"model_max_length": 1e30}"#, #"{"max_position_embeddings": 64}"#, 20, 20),
            ("{}", #"{"model_max_length": 100}"#, #"{"max_position_embeddings": 64}"#, nil, 64),
            (
                "{}", "{}", #"{"max_position_embeddings": 514, "model_type": "xlm-roberta", "pad_token_id": 1}"#, nil,
                512
            ),
            ("{}", "{}", "{}", nil, WordsDescription.longestText),
        ] as [(String, String, String, Int?, Int)])
    func longest(_ sentence: String, _ tokenizer: String, _ config: String, _ truncation: Int?, _ longest: Int) throws {
        let folder = try Self.folder(
            ["model.onnx": Self.tokens],
            Self.mean.merging([
                "sentence_bert_config.json": sentence, "tokenizer_config.json": tokenizer, "config.json": config,
            ]) { $1 })
        let words = try #require(try ModelBundle(path: folder.url.path).words)
        #expect(words.longest(truncation: truncation) == longest)
    }

    @Test("model.json adds labels, prompts and the scale; mistakes in them are problems with their places")
    func zeroShot() throws {
        let head = #""name": "n", "id": "i", "version": "1""#
        func words(_ rest: String) throws -> WordsDescription.ZeroShot? {
            let folder = try Self.folder(
                ["text_model.onnx": Self.texts, "vision_model.onnx": Self.pictures],
                ["model.json": "{\(head)\(rest)}"])
            return try ModelBundle(path: folder.url.path).words?.zeroShot
        }
        let found = try #require(
            try words(#", "zero_shot": {"scale": 20, "bias": -4, "labels": ["a", "b"], "prompt": ["x {}", "{} y"]}"#))
        #expect(found.scale == 20 && found.bias == -4 && found.labels == ["a", "b"] && found.prompts.count == 2)
        #expect(try words("")?.prompts == [Prompt.plain])
        for (rest, place) in [
            (#", "zero_shot": {"scale": 0}"#, "zero_shot.scale"),
            (#", "zero_shot": {"prompt": "x"}"#, "zero_shot.prompt"),
            (#", "zero_shot": {"labels": ["a", "a"]}"#, "zero_shot.labels"),
            (#", "zero_shot": {"scael": 1}"#, "zero_shot.scael"), (#", "inputs": []"#, "inputs"),
        ] {
            let error = #expect(throws: InferenceError.self) { try words(rest) }
            #expect(error?.message.contains(place) == true, "\(rest): \(error?.message ?? "")")
        }
    }
}
