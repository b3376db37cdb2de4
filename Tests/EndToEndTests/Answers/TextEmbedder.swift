import Foundation
import TestSupport

/// A model that embeds texts of the words `a`, `cat` and `dog`, in the form of sentence-transformers: the vector of a
/// text is the mean of those of its words.
enum TextEmbedder {
    private static let tokenizer = """
        {"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
         "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
         "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1, "cat": 2, "dog": 3}, "unk_token": "[UNK]"}}
        """

    private static var network: ONNXFile {
        ONNXFile(
            [ONNXFile.Node("Gather", ["words", "input_ids"], ["last_hidden_state"])],
            inputs: [("input_ids", [-1, -1])], outputs: [("last_hidden_state", [-1, -1, 2])]
        ).withIntegerInputs.with("words", [4, 2], [1, 0, 0.5, 0.5, 0, 1, 1, 1])
    }

    /// Writes the model as a folder.
    static func write(to folder: URL) throws {
        let pooling = folder.appendingPathComponent("1_Pooling")
        try FileManager.default.createDirectory(at: pooling, withIntermediateDirectories: true)
        try network.bytes.write(to: folder.appendingPathComponent("model.onnx"))
        try Data(tokenizer.utf8).write(to: folder.appendingPathComponent("tokenizer.json"))
        try Data("{}".utf8).write(to: folder.appendingPathComponent("config.json"))
        try Data("{\"pooling_mode_mean_tokens\": true}".utf8).write(to: pooling.appendingPathComponent("config.json"))
    }
}
