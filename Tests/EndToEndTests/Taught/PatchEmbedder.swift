import Foundation
import TestSupport

/// An embedder of pictures of 24 x 24 pixels: its patches are the mean colours of the cells of a grid.
struct PatchEmbedder {
    /// The numbers of rows and columns.
    var rows = 4, columns = 4
    /// Whether the output is tokens, `[1, rows * columns, 3]`, instead of a map, `[1, 3, rows, columns]`.
    var isTokens = false
    /// Further members of the output in model.json, such as `, "patches": {"rows": 4}`.
    var members = ", \"pooling\": \"mean\""

    private var file: ONNXFile {
        let side = 24, window = [side / rows, side / columns]
        let pool = ONNXFile.Node(
            "AveragePool", ["image"], [isTokens ? "map" : "patches"],
            integers: [("kernel_shape", window), ("strides", window)])
        let input = [("image", [1, 3, side, side])]
        guard isTokens else {
            return ONNXFile([pool], inputs: input, outputs: [("patches", [1, 3, rows, columns])])
        }
        let shape = ONNXFile.Node("Reshape", ["map", "shape"], ["rows"])
        let turn = ONNXFile.Node("Transpose", ["rows"], ["patches"], integers: [("perm", [0, 2, 1])])
        return ONNXFile([pool, shape, turn], inputs: input, outputs: [("patches", [1, rows * columns, 3])])
            .with("shape", [3], integers: [1, 3, Int64(rows * columns)])
    }

    /// Writes the bundle as a folder.
    func write(to folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try file.bytes.write(to: folder.appendingPathComponent("model.onnx"))
        let name = folder.lastPathComponent
        try Data(
            """
            {"name": "\(name)", "id": "\(name)", "version": "1", "model": {"file": "model.onnx", "backend": "onnx"},
             "inputs": [{"name": "image", "type": "image", "shape": [24, 24, 3], "format": "RGB", "layout": "NCHW",
                         "crop_and_scale": "fill", "normalize": {"mean": [0, 0, 0], "std": [1, 1, 1], "scale": 1}}],
             "outputs": [{"name": "patches", "type": "embedding"\(members)}]}
            """.utf8
        ).write(to: folder.appendingPathComponent("model.json"))
    }
}
