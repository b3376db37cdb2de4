import Foundation
import TestSupport

/// A bundle with a model that takes seconds of arithmetic and a few kilobytes of text: a row of poolings over wide
/// windows, in OpenVINO's own format, in ONNX for ONNX Runtime, or in TensorFlow Lite's format for LiteRT. An engine
/// can be stopped between two of them.
enum SlowModel {
    /// Writes the bundle `slow` into a folder of models.
    /// - Parameters:
    ///   - layers: the number of poolings; each takes about a twentieth of a second on one processor with the default
    ///     side.
    ///   - warmUpRuns: the number of runs before it is ready.
    ///   - side: the side of the picture. A fourth of it takes a sixteenth of the time.
    ///   - engine: the engine to run it. For other engines than OpenVINO the windows are narrower, which take them
    ///     about as long.
    static func write(
        into folder: URL, layers: Int, warmUpRuns: Int = 0, side: Int = 256, engine: String = "openvino"
    ) throws {
        let bundle = folder.appendingPathComponent("slow")
        try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
        var file = "slow.xml", backend = "openvino"
        if engine != "openvino" {
            let poolings = PoolingFile(layers: layers, side: side, window: 15, isFlat: true, engine: engine)
            (file, backend) = (poolings.name, engine == "litert" ? "tflite" : "onnx")
            try poolings.bytes.write(to: bundle.appendingPathComponent(file))
        } else {
            try Data(model(layers: layers, side: side).utf8).write(to: bundle.appendingPathComponent("slow.xml"))
            // The axes of the last layer's mean: 2 and 3, as 64-bit integers.
            try Data([2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]).write(
                to: bundle.appendingPathComponent("slow.bin"))
        }
        try Data("red\ngreen\nblue\n".utf8).write(to: bundle.appendingPathComponent("labels.txt"))
        let layout = engine == "litert" ? "NHWC" : "NCHW"
        let json = """
            { "name": "Slow", "id": "slow", "version": "1", "model": { "file": "\(file)", "backend": "\(backend)" },
              "inputs": [
                { "name": "image", "type": "image", "shape": [\(side), \(side), 3], "format": "RGB", "layout": "\(layout)" }
              ],
              "outputs": [ { "name": "mean", "type": "array", "shape": [1, 3], "labels": "labels.txt" } ],
              "runtime": { "warmup": { "runs": \(warmUpRuns) } } }
            """
        try Data(json.utf8).write(to: bundle.appendingPathComponent("model.json"))
    }

    private static let window = 63

    private static func port(_ id: Int, _ dimensions: [Int], _ attributes: String = "") -> String {
        "<port id=\"\(id)\"\(attributes)>" + dimensions.map { "<dim>\($0)</dim>" }.joined() + "</port>"
    }

    private static func layer(
        _ id: Int, _ name: String, _ type: String, data: String, inputs: [String] = [], output: String? = nil
    ) -> String {
        "<layer id=\"\(id)\" name=\"\(name)\" type=\"\(type)\" version=\"opset1\">"
            + (data.isEmpty ? "" : "<data \(data)/>")
            + (inputs.isEmpty ? "" : "<input>\(inputs.joined())</input>")
            + (output.map { "<output>\($0)</output>" } ?? "") + "</layer>\n"
    }

    private static func edge(_ from: Int, _ fromPort: Int, _ to: Int, _ toPort: Int) -> String {
        "<edge from-layer=\"\(from)\" from-port=\"\(fromPort)\" to-layer=\"\(to)\" to-port=\"\(toPort)\"/>\n"
    }

    private static func model(layers count: Int, side: Int) -> String {
        let shape = [1, 3, side, side], f32 = " precision=\"FP32\""
        let pad = (window - 1) / 2
        let pooling =
            "kernel=\"\(window),\(window)\" strides=\"1,1\" pads_begin=\"\(pad),\(pad)\" pads_end=\"\(pad),\(pad)\" "
            + "exclude-pad=\"true\" rounding_type=\"floor\" auto_pad=\"explicit\""
        var layers = layer(
            0, "image", "Parameter", data: "shape=\"1,3,\(side),\(side)\" element_type=\"f32\"",
            output: port(0, shape, f32 + " names=\"image\""))
        var edges = ""
        for id in 1...count {
            layers += layer(
                id, "pool\(id)", "AvgPool", data: pooling, inputs: [port(0, shape)], output: port(1, shape, f32))
            edges += edge(id - 1, id == 1 ? 0 : 1, id, 0)
        }
        layers += layer(
            count + 1, "axes", "Const", data: "element_type=\"i64\" shape=\"2\" offset=\"0\" size=\"16\"",
            output: port(0, [2], " precision=\"I64\""))
        layers += layer(
            count + 2, "mean", "ReduceMean", data: "keep_dims=\"false\"", inputs: [port(0, shape), port(1, [2])],
            output: port(2, [1, 3], f32 + " names=\"mean\""))
        layers += layer(count + 3, "result", "Result", data: "", inputs: [port(0, [1, 3])])
        edges += edge(count, 1, count + 2, 0) + edge(count + 1, 0, count + 2, 1) + edge(count + 2, 2, count + 3, 0)
        return "<?xml version=\"1.0\"?><net name=\"slow\" version=\"11\"><layers>\n\(layers)</layers><edges>\n"
            + "\(edges)</edges></net>\n"
    }
}
