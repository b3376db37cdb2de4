internal import EngineImporters
import Foundation
import Inference
import Observations
import TestSupport
import Testing

/// Mistakes in outputs of type boxes, mask, keypoints and embedding: each is reported with its JSON path.
@Suite struct ObservationProblemsTests {
    private static let outputs: [TensorPort] = [
        TensorPort(name: "out", elementType: .float32, shape: [1, 7, 10]),
        TensorPort(name: "boxes", elementType: .float32, shape: [1, 10, 4]),
        TensorPort(name: "scores", elementType: .float32, shape: [1, 10, 3]),
        TensorPort(name: "segmenter", elementType: .float32, shape: [1, 15, 10]),
        TensorPort(name: "protos", elementType: .float32, shape: [1, 8, 4, 4]),
        TensorPort(name: "mask", elementType: .float32, shape: [1, 3, 4, 4]),
        TensorPort(name: "points", elementType: .float32, shape: [1, 5, 3]),
        TensorPort(name: "vector", elementType: .float32, shape: [1, 4]),
    ]

    private static func problems(
        _ output: String, files: [String: Data] = [:], input: String = #""type": "image", "format": "RGB""#
    ) async throws -> [String] {
        let folder = try TemporaryFolder()
        let path = try folder.write([
            "labels.txt": "a\nb\nc\n", "two.txt": "a\nb\n", "m.onnx": "",
            "model.json": """
            { "name": "n", "id": "n", "version": "1", "model": { "file": "m.onnx", "backend": "onnx" },
              "inputs": [ { "name": "image", \(input), "shape": [32, 32, 3] } ],
              "outputs": [ \(output) ] }
            """,
        ])
        for (name, bytes) in files { try bytes.write(to: folder.url.appendingPathComponent(name)) }
        var configuration = ModelConfiguration()
        configuration.engine = FakeEngine(
            inputs: [TensorPort(name: "image", elementType: .float32, shape: [-1, 32, 32, 3])], outputs: outputs,
            answer: [UInt8](repeating: 0, count: 1_024))
        do throws(InferenceError) {
            _ = try await Model.load(contentsOf: path, configuration: configuration)
            return []
        } catch {
            guard case .invalidBundle(_, let problems) = error else { return ["another error: \(error.message)"] }
            return problems.map(\.description)
        }
    }

    private static let pairs = #""tensors": {"boxes": "boxes", "scores": "scores"}"#

    @Test(
        "valid outputs of type boxes, mask, keypoints and embedding have no problems",
        arguments: [
            #"{"name": "out", "type": "boxes", "layout": "yolov8", "labels": "labels.txt"}"#,
            #"{"name": "out", "type": "boxes", "layout": "yolov8", "order": "columns", "threshold": 0, "iou": 1}"#,
            #"{"name": "out", "type": "boxes", "layout": "yolov8", "labels": "two.txt", "background": "last"}"#,
            #"{"name": "t", "type": "boxes", "layout": "corners", \#(pairs)}"#,
            #"{"name": "segmenter", "type": "boxes", "layout": "yolov8", "labels": "labels.txt", "masks": {"prototypes": "protos", "coefficients": 8}}"#,
            #"{"name": "segmenter", "type": "boxes", "layout": "yolov8", "labels": "two.txt", "keypoints": {"names": ["x", "y", "z"], "skeleton": [[0, 2]]}}"#,
            #"{"name": "out", "type": "boxes", "coding": "boxes", "row": ["box", "scores"], "labels": "labels.txt"}"#,
            #"{"name": "t", "type": "boxes", "coding": "boxes", "form": "corners", \#(pairs)}"#,
            #"{"name": "segmenter", "type": "boxes", "coding": "boxes", "row": ["_", "box", "objectness", "scores", "extras"], "labels": "labels.txt", "keypoints": {"points": 2, "point": "x y z"}}"#,
            #"{"name": "mask", "type": "mask", "labels": "labels.txt"}"#,
            #"{"name": "points", "type": "keypoints", "points": 5}"#,
            #"{"name": "vector", "type": "embedding", "normalize": "none"}"#,
            #"{"name": "vector", "type": "embedding", "classes": "good.safetensors"}"#,
        ])
    func goodOnesHaveNone(_ output: String) async throws {
        #expect(try await Self.problems(output, files: ["good.safetensors": Self.safetensors()]) == [])
    }

    /// An output, the path of its problem, and a text that the problem contains.
    @Test(
        "a mistake in an output of type boxes, mask, keypoints or embedding is reported with its path",
        arguments: [
            (#"{"name": "out", "type": "boxes"}"#, "layout: ", "is missing: expected one of \"yolov5\", \"yolov8\""),
            (#"{"name": "out", "type": "boxes", "layout": "yolo"}"#, "layout: ", "\"tflite-detection\""),
            (#"{"name": "out", "type": "box", "layout": "yolov8"}"#, "type: ", "\"box\""),
            (#"{"name": "nope", "type": "boxes", "layout": "yolov8"}"#, "name: ", "it has \"out\""),
            (#"{"name": "out", "type": "boxes", "layout": "yolov8", "labels": "none.txt"}"#, "labels: ", "none.txt"),
            (#"{"name": "out", "type": "boxes", "layout": "yolov8", "labels": "two.txt"}"#, "name: ", "[1, 6, rows]"),
            (
                #"{"name": "out", "type": "boxes", "layout": "yolov5", "labels": "labels.txt"}"#, "name: ",
                "1 objectness"
            ),
            (#"{"name": "out", "type": "boxes", "layout": "yolov8", "form": "center"}"#, "form: ", "\"centers\""),
            (
                #"{"name": "out", "type": "boxes", "layout": "yolox", "form": "corners"}"#, "form: ",
                "expected \"centers\""
            ),
            (
                #"{"name": "t", "type": "boxes", "layout": "ssd", "form": "corners", \#(pairs)}"#, "form: ",
                "\"centers\""
            ),
            (
                #"{"name": "out", "type": "boxes", "layout": "yolo-end-to-end", "scores": "softmax"}"#, "scores: ",
                "one score a box"
            ),
            (
                #"{"name": "out", "type": "boxes", "layout": "yolov8", "labels": "labels.txt", "background": "first"}"#,
                "name: ",
                "1 background + 3 classes"
            ),
            (#"{"name": "out", "type": "boxes", "layout": "yolov8", "units": "percent"}"#, "units: ", "\"fractions\""),
            (#"{"name": "out", "type": "boxes", "layout": "yolov8", "scores": "logits"}"#, "scores: ", "\"sigmoid\""),
            (#"{"name": "out", "type": "boxes", "layout": "yolov8", "background": 0}"#, "background: ", "the number 0"),
            (#"{"name": "out", "type": "boxes", "layout": "yolov8", "nms": "class"}"#, "nms: ", "\"per_class\""),
            (#"{"name": "out", "type": "boxes", "layout": "yolov8", "order": "nchw"}"#, "order: ", "\"columns\""),
            (#"{"name": "out", "type": "boxes", "layout": "yolov8", "threshold": 25}"#, "threshold: ", "from 0 to 1"),
            (#"{"name": "out", "type": "boxes", "layout": "yolov8", "iou": -0.1}"#, "iou: ", "from 0 to 1"),
            (
                #"{"name": "out", "type": "boxes", "layout": "yolov8", "max_detections": 0}"#, "max_detections: ",
                "1 to 10000"
            ),
            (
                #"{"name": "out", "type": "boxes", "layout": "yolov8", "multi_label": 1}"#, "multi_label: ",
                "true or false"
            ),
            (
                #"{"name": "out", "type": "boxes", "layout": "yolov8", "treshold": 0.5}"#, "treshold: ",
                "did you mean \"threshold\"?"
            ),
            (#"{"name": "out", "type": "boxes", "layout": "yolox", "strides": [8, 0]}"#, "strides: ", "in range"),
            (
                #"{"name": "out", "type": "boxes", "layout": "yolox", "labels": "two.txt"}"#, "name: ",
                "expected 21 rows"
            ),
            (#"{"name": "out", "type": "boxes", "layout": "yolo-end-to-end"}"#, "name: ", "[1, rows, 6]"),
            (#"{"name": "t", "type": "boxes", "layout": "corners"}"#, "tensors.boxes: ", "is missing"),
            (
                #"{"name": "t", "type": "boxes", "layout": "corners", "tensors": {"boxes": "boxes"}}"#,
                "tensors.scores: ",
                "is missing"
            ),
            (
                #"{"name": "t", "type": "boxes", "layout": "corners", "tensors": {"boxes": "boxes", "scores": "nope"}}"#,
                "tensors.scores: ", "it has \"out\""
            ),
            (
                #"{"name": "t", "type": "boxes", "layout": "corners", "tensors": {"boxes": 1, "scores": "scores"}}"#,
                "tensors.boxes: ", "the number 1"
            ),
            (
                #"{"name": "t", "type": "boxes", "layout": "corners", "tensors": {"boxes": ["boxes"], "scores": "scores"}}"#,
                "tensors.boxes: ", "an array"
            ),
            (
                #"{"name": "t", "type": "boxes", "layout": "retinanet", "tensors": {"boxes": ["boxes", 2], "scores": "scores"}}"#,
                "tensors.boxes[1]: ", "the number 2"
            ),
            (
                #"{"name": "t", "type": "boxes", "layout": "corners", "tensors": {"boxes": "boxes", "scores": "scores", "count": "vector"}}"#,
                "tensors.count: ", "is not a known key"
            ),
            (
                #"{"name": "t", "type": "boxes", "layout": "corners", "background": "first", "labels": "labels.txt", \#(pairs)}"#,
                "tensors.scores: ", "[1, 10, 4]"
            ),
            (#"{"name": "t", "type": "boxes", "layout": "ssd", \#(pairs)}"#, "priors: ", "is missing"),
            (
                #"{"name": "t", "type": "boxes", "layout": "ssd", "priors": "none.npy", \#(pairs)}"#, "priors: ",
                "none.npy"
            ),
            (
                #"{"name": "t", "type": "boxes", "layout": "ssd", "priors": "labels.txt", \#(pairs)}"#, "priors: ",
                "labels.txt"
            ),
            (#"{"name": "t", "type": "boxes", "layout": "ssd", "priors": 7, \#(pairs)}"#, "priors: ", "the number 7"),
            (
                #"{"name": "t", "type": "boxes", "layout": "ssd", "priors": [], \#(pairs)}"#, "priors: ",
                "1 to 64 levels"
            ),
            (
                #"{"name": "t", "type": "boxes", "layout": "ssd", "priors": [{"boxes": [[4, 4]]}], \#(pairs)}"#,
                "priors[0].stride: ", "is missing"
            ),
            (
                #"{"name": "t", "type": "boxes", "layout": "ssd", "priors": [{"stride": 8, "boxes": [[4, 0]]}], \#(pairs)}"#,
                "priors[0].boxes[0]: ", "[width, height]"
            ),
            (
                #"{"name": "t", "type": "boxes", "layout": "ssd", "priors": [{"stride": 8}], \#(pairs)}"#,
                "priors[0]: ",
                "has 0 boxes"
            ),
            (
                #"{"name": "t", "type": "boxes", "layout": "ssd", "priors": [{"stride": 32, "sizes": [4], "ratio": [1]}], \#(pairs)}"#,
                "priors[0].ratio: ", "did you mean \"ratios\"?"
            ),
            (
                #"{"name": "t", "type": "boxes", "layout": "ssd", "priors": [{"stride": 32, "boxes": [[4, 4]]}], \#(pairs)}"#,
                "tensors.boxes: ", "expected 1 rows"
            ),
            (
                #"{"name": "t", "type": "boxes", "layout": "ssd", "variances": [0.1], "priors": [{"stride": 32, "boxes": [[4, 4]]}], \#(pairs)}"#,
                "variances: ", "an array of 4 numbers"
            ),
            (
                #"{"name": "segmenter", "type": "boxes", "layout": "yolov8", "masks": {}}"#, "masks.prototypes: ",
                "is missing"
            ),
            (
                #"{"name": "segmenter", "type": "boxes", "layout": "yolov8", "masks": {"prototypes": "protos", "coefficients": 0}}"#,
                "masks.coefficients: ", "1 to 1024"
            ),
            (
                #"{"name": "segmenter", "type": "boxes", "layout": "yolov8", "masks": {"prototypes": "protos", "coefficients": 8, "threshold": 1}}"#,
                "masks.threshold: ", "between 0 and 1"
            ),
            (
                #"{"name": "segmenter", "type": "boxes", "layout": "yolov8", "labels": "labels.txt", "masks": {"prototypes": "mask", "coefficients": 8}}"#,
                "masks.prototypes: ", "[1, 8, height, width]"
            ),
            (
                #"{"name": "segmenter", "type": "boxes", "layout": "yolov8", "labels": "labels.txt", "masks": {"prototypes": "protos", "coefficients": 6}}"#,
                "name: ", "6 others"
            ),
            (
                #"{"name": "segmenter", "type": "boxes", "layout": "yolov8", "masks": 8}"#, "masks: ",
                "expected an object"
            ),
            (
                #"{"name": "segmenter", "type": "boxes", "layout": "yolov8", "keypoints": {}}"#, "keypoints.names: ",
                "is missing"
            ),
            (
                #"{"name": "segmenter", "type": "boxes", "layout": "yolov8", "keypoints": {"points": 3, "point": "x,y"}}"#,
                "keypoints.point: ", "\"x y score\""
            ),
            (#"{"name": "out", "type": "boxes", "coding": "ltrb"}"#, "coding: ", "\"distances\""),
            (#"{"name": "out", "type": "boxes", "coding": "boxes"}"#, "tensors: ", "expected \"box\""),
            (
                #"{"name": "out", "type": "boxes", "coding": "boxes", "row": ["box", "score", "name"]}"#, "row: ",
                "expected 1 to 64 of \"box\""
            ),
            (#"{"name": "out", "type": "boxes", "coding": "boxes", "row": 7}"#, "row: ", "the number 7"),
            (
                #"{"name": "out", "type": "boxes", "coding": "boxes", "row": ["box", "box", "scores"]}"#, "row: ",
                "\"box\" twice"
            ),
            (
                #"{"name": "out", "type": "boxes", "coding": "boxes", "row": ["box", "scores", "class"]}"#, "row: ",
                "expected \"score\""
            ),
            (
                #"{"name": "out", "type": "boxes", "coding": "boxes", "row": ["centers", "scores"]}"#, "row: ",
                "\"sizes\""
            ),
            (#"{"name": "out", "type": "boxes", "coding": "boxes", "row": ["box"]}"#, "row: ", "expected \"scores\""),
            (
                #"{"name": "out", "type": "boxes", "coding": "distances", "row": ["box", "scores"]}"#, "priors: ",
                "or \"strides\""
            ),
            (
                #"{"name": "out", "type": "boxes", "coding": "distances", "row": ["box", "scores"], "strides": [8], "labels": "labels.txt"}"#,
                "name: ", "expected 16 rows, as many as priors, found 10"
            ),
            (#"{"name": "out", "type": "boxes", "layout": "yolov8", "bins": 16}"#, "bins: ", "\"distances\""),
            (
                #"{"name": "out", "type": "boxes", "layout": "yolox", "center_scale": 0}"#, "center_scale: ",
                "from 0 to 16"
            ),
            (#"{"name": "out", "type": "boxes", "layout": "yolox", "combine": [1]}"#, "combine: ", "2 numbers"),
            (#"{"name": "out", "type": "boxes", "layout": "yolox", "combine": 1}"#, "combine: ", "\"root\""),
            (
                #"{"name": "t", "type": "boxes", "coding": "boxes", "row": {"output": ["box"]}, \#(pairs)}"#,
                "row.output: ", "is not a known key"
            ),
            (
                #"{"name": "segmenter", "type": "boxes", "layout": "yolov8", "keypoints": {"points": 3, "scale": 2}}"#,
                "keypoints.scale: ", "\"from\""
            ),
            (
                #"{"name": "segmenter", "type": "boxes", "layout": "yolov8", "keypoints": {"points": 3, "from": "prior"}}"#,
                "keypoints.from: ", "no priors"
            ),
            (#"{"name": "mask", "type": "mask", "layout": "argmax"}"#, "layout: ", "\"classes\""),
            (#"{"name": "mask", "type": "mask", "labels": "two.txt"}"#, "name: ", "[1, 2, height, width]"),
            (
                #"{"name": "mask", "type": "mask", "layout": "sigmoid", "threshold": 0}"#, "threshold: ",
                "between 0 and 1"
            ),
            (
                #"{"name": "vector", "type": "mask", "labels": "labels.txt"}"#, "name: ", "[1, 3, height, width]"
            ),
            (#"{"name": "points", "type": "keypoints", "names": ["nose"]}"#, "name: ", "[1, 1, 3]"),
            (#"{"name": "points", "type": "keypoints", "names": [1]}"#, "names: ", "1 to 4096 strings"),
            (#"{"name": "points", "type": "keypoints", "points": 0}"#, "points: ", "1 to 4096"),
            (
                #"{"name": "points", "type": "keypoints", "points": 5, "skeleton": [[0, 1], [0, 9]]}"#, "skeleton[1]: ",
                "two indices"
            ),
            (#"{"name": "points", "type": "keypoints", "points": 5, "refine": "half"}"#, "refine: ", "\"quarter\""),
            (
                #"{"name": "points", "type": "keypoints", "layout": "heatmaps", "points": 2}"#, "name: ",
                "[1, 2, height, width]"
            ),
            (#"{"name": "vector", "type": "embedding", "normalize": "l1"}"#, "normalize: ", "\"l2\""),
            (#"{"name": "vector", "type": "embedding", "scale": 100}"#, "scale: ", "is for \"classes\""),
            (
                #"{"name": "vector", "type": "embedding", "classes": "none.safetensors"}"#, "classes: ",
                "none.safetensors"
            ),
        ])
    func oneMistakeIsNamed(_ output: String, _ path: String, _ words: String) async throws {
        let found = try await Self.problems(output)
        #expect(found.contains { $0.hasPrefix("outputs[0]." + path) && $0.contains(words) }, "\(found)")
    }

    @Test("an output of type boxes needs an input of type image")
    func aPictureIsNeeded() async throws {
        let found = try await Self.problems(
            #"{"name": "out", "type": "boxes", "layout": "yolov8"}"#, input: #""type": "array""#)
        #expect(
            found.contains { $0.hasPrefix("outputs[0].type: ") && $0.contains("one input, of type \"image\"") },
            "\(found)")
    }

    // MARK: Vectors of classes

    /// A safetensors file; the defaults are valid for two classes with four numbers.
    private static func safetensors(
        header: String? = nil, dtype: String = "F32", shape: String = "[2, 4]", offsets: String = "[0, 32]",
        metadata: String = #", "__metadata__": {"labels": "a\nb", "scale": "10"}"#, name: String = "classes",
        values: [Float] = [1, 0, 0, 0, 0, 1, 0, 0], length: UInt64? = nil
    ) -> Data {
        let text =
            header
            ?? #"{"\#(name)": {"dtype": "\#(dtype)", "shape": \#(shape), "data_offsets": \#(offsets)}\#(metadata)}"#
        var data = withUnsafeBytes(of: (length ?? UInt64(text.utf8.count)).littleEndian) { Data($0) }
        data += Data(text.utf8)
        for value in values { data += withUnsafeBytes(of: value.bitPattern.littleEndian) { Data($0) } }
        return data
    }

    @Test(
        "a file of class vectors that cannot be used is reported with the reason",
        arguments: [
            (Data([1, 2, 3]), "it has 3 bytes"),
            (safetensors(length: 1 << 60), "its header would have"),
            (safetensors(length: .max), "its header would have"),
            (safetensors(length: 100_000), "its header would have"),
            (safetensors(header: "[]"), "not a JSON object"),
            (safetensors(header: "{\"classes\": "), "not a JSON object"),
            (safetensors(header: "{}"), "0 tensors"),
            (safetensors(header: #"{"a": {}, "b": {}}"#), "none of them called \"classes\""),
            (safetensors(header: #"{"classes": 7}"#), "tensors"),
            (safetensors(shape: "[8]"), "no shape of [classes, dimension]"),
            (safetensors(shape: "[2, 2, 2]"), "no shape of [classes, dimension]"),
            (safetensors(shape: "[0, 4]"), "no shape of [classes, dimension]"),
            (safetensors(shape: "[-2, -4]"), "no shape of [classes, dimension]"),
            (safetensors(shape: "[1000000, 65536]"), "expected 262144000000"),
            (safetensors(shape: "[9223372036854775807, 4]"), "no shape of [classes, dimension]"),
            (safetensors(shape: "[2.5, 4]"), "no shape of [classes, dimension]"),
            (safetensors(offsets: "[0, 33]"), "outside of the file"),
            (safetensors(offsets: "[-4, 28]"), "outside of the file"),
            (safetensors(offsets: "[32, 0]"), "outside of the file"),
            (safetensors(offsets: "[0]"), "outside of the file"),
            (safetensors(offsets: "[0, 28]"), "28 bytes"),
            (safetensors(dtype: "I8"), "F32, F16, BF16 or F64"),
            (safetensors(dtype: "F64"), "expected 64"),
            (safetensors(values: [1, 0, 0, 0, 0, 0, 0, 0]), "zero or not finite"),
            (safetensors(values: [1, 0, 0, 0, .nan, 0, 0, 0]), "zero or not finite"),
            (safetensors(values: [1, 0, 0, 0, .infinity, 0, 0, 0]), "zero or not finite"),
            (
                safetensors(metadata: #", "__metadata__": {"labels": "a\nb", "scale": "-1"}"#),
                "scale is not greater than 0"
            ),
            (
                safetensors(metadata: #", "__metadata__": {"labels": "a\nb", "scale": "1e400"}"#),
                "scale is not greater than 0"
            ),
            (safetensors(metadata: #", "__metadata__": {"labels": "a\nb\nc"}"#), "3 labels"),
            (safetensors(metadata: ""), "a label for each vector"),
            (
                safetensors(
                    shape: "[4, 2]", metadata: #", "__metadata__": {"labels": "a\nb\nc\nd"}"#,
                    values: [1, 0, 0, 1, 1, 1, 2, 1]), "2 numbers, as \"classes\" has"
            ),
        ])
    func vectorsThatCannotBeRead(_ file: Data, _ words: String) async throws {
        let found = try await Self.problems(
            #"{"name": "vector", "type": "embedding", "classes": "c.safetensors"}"#, files: ["c.safetensors": file])
        #expect(found.contains { $0.hasPrefix("outputs[0].") && $0.contains(words) }, "\(found)")
    }

    /// Truncated at every byte, and with a flipped bit in every byte: problems or a model, and no crash.
    @Test("a file of class vectors that is truncated is a problem, and a flipped bit never crashes the load")
    func damagedVectorsEndInProblems() async throws {
        let good = Self.safetensors()
        let output = #"{"name": "vector", "type": "embedding", "classes": "c.safetensors"}"#
        for length in 0..<good.count {
            let found = try await Self.problems(output, files: ["c.safetensors": good.prefix(length)])
            #expect(!found.isEmpty && found.allSatisfy { $0.hasPrefix("outputs[0].") }, "\(length): \(found)")
        }
        for place in 0..<good.count {
            var bytes = good
            bytes[place] ^= 1 << UInt8(place % 8)
            let found = try await Self.problems(output, files: ["c.safetensors": bytes])
            #expect(found.allSatisfy { $0.hasPrefix("outputs[0].") }, "\(place): \(found)")
        }
    }
}

/// TFLite_Detection_PostProcess in damaged files: a reason, or a plan with valid sizes, and no crash.
@Suite struct DetectionOperatorTests {
    private static let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/observations")

    private static func read(_ bytes: [UInt8]) {
        do throws(DetectionOperator.Unreadable) {
            guard let found = try DetectionOperator(bytes) else { return }
            #expect(found.boxes > 0 && found.columns > 0)
            #expect((1...10_000).contains(found.decoding.maxDetections) && found.rowsOfBox > 0)
            #expect(found.file.count == bytes.count)
        } catch {
            #expect(!error.reason.isEmpty)
        }
    }

    @Test(
        "TFLite_Detection_PostProcess in a cut or bit-flipped file gives a reason or a plan of valid sizes",
        arguments: ["ssd_fast", "ssd_regular_two_of_a_class"])
    func truncationsAndTurnedBits(_ name: String) throws {
        let good = [UInt8](try Data(contentsOf: Self.folder.appendingPathComponent("\(name)/model.tflite")))
        #expect(try DetectionOperator(good) != nil)
        for length in 0..<good.count { Self.read(Array(good[..<length])) }
        for place in good.indices {
            for bit in [0, 3, 7] {
                var bytes = good
                bytes[place] ^= 1 << UInt8(bit)
                Self.read(bytes)
            }
        }
    }

    @Test("TFLite_Detection_PostProcess among random bytes gives a reason or a plan of valid sizes")
    func randomBytesInEveryPlace() throws {
        let good = [UInt8](
            try Data(contentsOf: Self.folder.appendingPathComponent("ssd_two_classes_a_box/model.tflite")))
        let seed = SplitMix.seed(for: "randomBytesInEveryPlace")
        var random = SplitMix(seed: seed)
        for _ in 0..<20_000 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let place = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: for index in place..<min(place + 4, bytes.count) { bytes[index] = 0xFF }
                default: for index in place..<min(place + 8, bytes.count) { bytes[index] = 0 }
                }
            }
            Self.read(bytes)
        }
    }
}

/// NON_MAX_SUPPRESSION in damaged files: a reason, or two complete parts, and no crash.
@Suite struct SuppressionSplitTests {
    private static let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/heads")

    private static func read(_ bytes: [UInt8]) {
        do throws(DetectionOperator.Unreadable) {
            guard let found = try SuppressionSplit(bytes) else { return }
            // The lists are appended to the file.
            #expect(found.front.count > bytes.count && found.back.map { $0.count > bytes.count } ?? true)
        } catch {
            #expect(!error.reason.isEmpty)
        }
    }

    @Test(
        "NON_MAX_SUPPRESSION in a cut or bit-flipped file gives a reason or two whole parts",
        arguments: ["nms_v5_soft", "nms_own"])
    func truncationsAndTurnedBits(_ name: String) throws {
        let good = [UInt8](try Data(contentsOf: Self.folder.appendingPathComponent("\(name).tflite")))
        let split = try #require(try SuppressionSplit(good))
        #expect(try SuppressionSplit(split.front) == nil, "the operator is left")
        for length in 0..<good.count { Self.read(Array(good[..<length])) }
        for place in good.indices {
            for bit in [0, 7] {
                var bytes = good
                bytes[place] ^= 1 << UInt8(bit)
                Self.read(bytes)
            }
        }
    }
}
