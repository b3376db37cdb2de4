import Foundation
import ImagePipeline
import TestSupport
import Testing

/// TensorIO's format in all its forms: a bundle for each, with a model so small that its answers can be computed by
/// hand (`Tests/Fixtures/tensorio`). The expected answers follow TensorIO's own code.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct TensorIOBundlesTests {
    static let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/tensorio")

    private func predict(_ daemon: Daemon, _ bundle: String, _ body: String, _ arguments: [String] = []) throws
        -> Answer
    {
        try Curl.run(
            daemon.url + "/v1/models/\(bundle)/predict", ["--data-binary", "@-"] + arguments, input: Data(body.utf8))
    }

    /// True if two JSON values are equal, numbers within a rounding of 32-bit floats.
    private func same(_ found: Any?, _ expected: Any) -> Bool {
        switch (found, expected) {
        case (let found as [Any], let expected as [Any]):
            return found.count == expected.count && zip(found, expected).allSatisfy { same($0, $1) }
        case (let found as [String: Any], let expected as [String: Any]):
            return found.count == expected.count && expected.allSatisfy { same(found[$0.key], $0.value) }
        case (let found as String, let expected as String): return found == expected
        case (let found as NSNumber, let expected as NSNumber):
            return abs(found.doubleValue - expected.doubleValue) <= 1e-6 * max(1, abs(expected.doubleValue))
        default: return false
        }
    }

    private func json(_ text: String) throws -> Any {
        try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    }

    // MARK: Numbers

    /// Bundle, body, outputs.
    private static let numbers = [
        ("number", "{\"inputs\": {\"input\": 2}}", "{\"output\": 25}"), ("number", "[2]", "{\"output\": 25}"),
        ("number-without-backend", "[2]", "{\"output\": 25}"), ("number-without-modes", "[2]", "{\"output\": 25}"),
        ("number-old-extension", "[2]", "{\"output\": 25}"),
        ("scalar", "{\"inputs\": {\"input\": 2}}", "{\"output\": 25}"), ("scalar", "[2]", "{\"output\": 25}"),
        // 2 and 25 as 32-bit floats, little-endian.
        (
            "string-of-float32", "{\"inputs\": {\"input\": {\"b64\": \"AAAAQA==\"}}}",
            "{\"output\": {\"b64\": \"AADIQQ==\"}}"
        ),
        (
            "tensor-3x3x3", "[[1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9]]",
            "{\"output_z\": [[[2, 3, 4], [5, 6, 7], [8, 9, 10]], [[3, 4, 5], [6, 7, 8], [9, 10, 11]], "
                + "[[4, 5, 6], [7, 8, 9], [10, 11, 12]]]}"
        ),
        (
            "matrices-2-in-2-out",
            "[[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], "
                + "[[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 3, 0], [0, 0, 0, 4]]]",
            "{\"output1\": [[1, 4, 9, 16], [5, 12, 21, 32], [9, 20, 33, 48], [13, 28, 45, 64]], "
                + "\"output2\": [[0, 2, 3, 4], [5, 4, 7, 8], [9, 10, 8, 12], [13, 14, 15, 12]]}"
        ),
        // Fractions are cut off before quantization: 0.5 is 127, 0.25 is 63.
        (
            "quantized-unit-range", "{\"inputs\": {\"input\": [0, 0.5, 1, 0.25]}}",
            "{\"output\": [0, 0.498039216, 1, 0.247058824]}"
        ),
        (
            "quantized-signed-range", "{\"inputs\": {\"input\": [-1, 0, 1, 0.5]}}",
            "{\"output\": [-1, -0.003921569, 1, 0.498039216]}"
        ),
        // (value + 3) * 2, and back value * 0.5 - 3: 10.4 is 26 in between.
        ("quantized-scale-and-bias", "{\"inputs\": {\"input\": [0, 1, -3, 10.4]}}", "{\"output\": [0, 1, -3, 10]}"),
        ("quantized-as-it-is", "{\"inputs\": {\"input\": [0, 7, 128, 255]}}", "{\"output\": [0, 7, 128, 255]}"),
        ("tensorflow-int64", "{\"inputs\": {\"input\": 2}}", "{\"output\": 25}"),
        ("tensorflow-without-backend", "[2]", "{\"output\": 25}"),
        // 1 and 2 become 2 and 3.
        (
            "tensorflow-string-of-int32", "{\"inputs\": {\"input\": {\"b64\": \"AQAAAAIAAAA=\"}}}",
            "{\"output\": {\"b64\": \"AgAAAAMAAAA=\"}}"
        ),
        (
            "tensorflow-string-of-int32", "{\"inputs\": {\"input\": [1, 2]}}",
            "{\"output\": {\"b64\": \"AgAAAAMAAAA=\"}}"
        ),
        (
            "tensorflow-placeholders", "{\"inputs\": {\"input2\": [10, 20, 30, 40], \"input1\": [1, 2, 3, 4]}}",
            "{\"output1\": 300, \"output2\": 90}"
        ),
        ("tensorflow-placeholders", "[[1, 2, 3, 4], [10, 20, 30, 40]]", "{\"output1\": 300, \"output2\": 90}"),
        ("tensorflow-scalars", "{\"inputs\": {\"age\": 2.5, \"sex\": 2, \"rank\": 3}}", "{\"tree/Predict\": 2}"),
    ]

    /// Bundle, body, and the words of the error.
    private static let mistakes = [
        ("scalar", "{\"inputs\": {\"input\": [1, 2]}}", ["\"input\"", "1 number", "found 2"]),
        ("string-of-float32", "{\"inputs\": {\"input\": {\"b64\": \"AAAA\"}}}", ["\"input\"", "4 bytes", "found 3"]),
        ("string-of-float32", "{\"inputs\": {\"input\": \"1234567\"}}", ["\"input\"", "4 bytes", "found 7"]),
        ("string-of-float32", "{\"inputs\": {\"input\": true}}", ["\"input\"", "true or false"]),
        ("quantized-as-it-is", "{\"inputs\": {\"input\": [0, 7, 256, 1]}}", ["\"input\"", "0 to 255", "[2]", "256"]),
        ("quantized-as-it-is", "{\"inputs\": {\"input\": [0, -1, 6, 1]}}", ["\"input\"", "0 to 255", "[1]", "-1"]),
        ("quantized-as-it-is", "{\"inputs\": {\"input\": [0.5, 1, 6, 1]}}", ["\"input\"", "integer", "[0]", "0.5"]),
        ("tensorflow-int64", "[3000000000]", ["\"input\"", "3000000000"]),
        ("tensorflow-scalars", "{\"inputs\": {\"age\": 2, \"sex\": 0.5, \"rank\": 3}}", ["\"sex\"", "integer"]),
        ("tensorflow-placeholders", "{\"inputs\": {\"input1\": [1, 2, 3, 4]}}", ["\"input2\"", "missing"]),
        ("tensorflow-placeholders", "[[1, 2, 3, 4]]", ["\"input2\"", "2", "1"]),
        ("picture-bgr", "{\"inputs\": {\"image\": [1, 2, 3]}}", ["\"image\"", "b64", "an array"]),
    ]

    @Test("TensorIO bundles of numbers give the outputs of TensorIO's code; a wrong input gets 400")
    func numbersOfEveryForm() throws {
        let daemon = try Daemon(["--models", Self.folder.path])
        for (bundle, body, outputs) in Self.numbers {
            let answer = try predict(daemon, bundle, body)
            #expect(answer.status == 200, "\(bundle): \(answer.text)")
            #expect(same(answer.json["outputs"], try json(outputs)), "\(bundle), \(body): \(answer.text)")
        }
        for (bundle, body, words) in Self.mistakes {
            let answer = try predict(daemon, bundle, body)
            #expect(answer.status == 400 && answer.code == "invalid_input", "\(bundle), \(body): \(answer.text)")
            for word in words { #expect(answer.error.contains(word), "\(bundle): \(word): \(answer.error)") }
        }
        let items = try predict(daemon, "number", "{\"items\": [[2], {\"input\": 4}]}")
        let outputs = (items.json["results"] as? [[String: Any]])?.compactMap { $0["outputs"] }
        #expect(same(outputs, try json("[{\"output\": 25}, {\"output\": 45}]")), "\(items.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// A model has the name under which it is served, and the error names its task.
    @Test("a task that a model does not have gets 400 with the served name and the task that the model has")
    func theWrongTaskIsRefusedByTheServedName() throws {
        let daemon = try Daemon(["--models", Self.folder.path])
        let picture = BadInputTests.seven
        for task in ["classify", "detect", "segment", "keypoints", "embed", "read"] {
            let answer = try Curl.post(picture, to: daemon.url + "/v1/models/number-without-modes/\(task)")
            #expect(answer.status == 400 && answer.code == "invalid_input", "\(answer.text)")
            #expect(answer.error.hasPrefix("model \"number-without-modes\" "), "\(task): \(answer.error)")
            #expect(answer.error.contains("it answers /predict"), "\(task): \(answer.error)")
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    // MARK: Pictures

    private typealias Color = (red: UInt8, green: UInt8, blue: UInt8)

    /// A picture of 32 by 32 pixels of one colour.
    private func png(_ color: Color) throws -> Data {
        let pixels = (0..<32 * 32).flatMap { _ in [color.red, color.green, color.blue] }
        return Data(
            try pixels.withUnsafeBytes { try PNGEncoder.encode(width: 32, height: 32, channels: 3, pixels: $0) })
    }

    /// True if a PNG is such a picture, within one level.
    private func isUniform(_ png: Data, _ color: Color) throws -> Bool {
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 32, height: 32))
        var pixels = [UInt8](repeating: 0, count: pipeline.spec.byteCount)
        let info = try png.withUnsafeBytes { bytes in
            try pixels.withUnsafeMutableBytes { try pipeline.prepare(bytes, into: $0) }
        }
        let wanted = [color.red, color.green, color.blue]
        return info.width == 32 && info.height == 32
            && pixels.enumerated().allSatisfy { abs(Int($0.element) - Int(wanted[$0.offset % 3])) <= 1 }
    }

    @Test("TensorIO bundles of pictures give the pixels, means and labels of TensorIO's code")
    func picturesOfEveryForm() throws {
        let daemon = try Daemon(["--models", Self.folder.path])
        let color: Color = (100, 150, 200)
        let picture = try png(color)
        func post(_ bundle: String, _ arguments: [String] = []) throws -> Answer {
            try Curl.run(
                daemon.url + "/v1/models/\(bundle)/predict", ["--data-binary", "@-"] + arguments, input: picture)
        }
        for bundle in ["picture-normalized", "picture-denormalized-per-channel", "picture-bgr"] {
            let answer = try post(bundle, ["-H", "Accept: image/png"])
            #expect(answer.headers["content-type"] == "image/png", "\(bundle): \(answer.text.prefix(300))")
            #expect(try isUniform(answer.body, color), "\(bundle)")
        }
        for (bundle, output, expected) in [
            // 0.004 * 100 - 0.485, 0.004 * 150 - 0.457, 0.004 * 200 - 0.408
            ("picture-per-channel-bias", "means", "[-0.085, 0.143, 0.392]"),
            // Blue first; each colour has its own bias, wherever it is.
            ("picture-bgr", "means", "[203, 152, 101]"),
            (
                "picture-quantized-labels", "classification",
                "{\"red\": 0.392156863, \"green\": 0.588235294, \"blue\": 0.784313725}"
            ),
            // The sigmoid of 10 * ((100 + 150 + 200) / 3 / 255 - 0.5).
            ("tensorflow-batch-of-pictures", "dense/Sigmoid", "0.707310"),
        ] {
            let answer = try post(bundle)
            let outputs = answer.json["outputs"] as? [String: Any]
            #expect(answer.status == 200 && outputs?[output] != nil, "\(bundle): \(answer.text)")
            // Means of a thousand 32-bit floats.
            let found = try rounded(outputs?[output] ?? "")
            #expect(same(found, try rounded(json(expected))), "\(bundle): \(answer.text)")
        }
        let classified = try Curl.run(
            daemon.url + "/v1/models/picture-quantized-labels/classify?top=1", ["--data-binary", "@-"], input: picture)
        #expect(classified.topLabel == "blue", "\(classified.text)")
        let described = try Curl.run(daemon.url + "/v1/models/picture-quantized-labels")
        let options = described.json["options"] as? NSDictionary
        #expect(options == ["device_position": "back", "output_format": "image.classification.nodecay"])
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// The numbers of a JSON value to four places.
    private func rounded(_ value: Any) throws -> Any {
        switch value {
        case let values as [Any]: return try values.map(rounded)
        case let values as [String: Any]: return try values.mapValues(rounded)
        case let number as NSNumber: return (number.doubleValue * 1e4).rounded() / 1e4
        default: return value
        }
    }

    @Test("a model of two picture inputs takes base64 in JSON, and refuses a bare picture with 400")
    func twoPicturesMakeOne() throws {
        let daemon = try Daemon(["--models", Self.folder.path])
        let new = try png((100, 150, 200)).base64EncodedString(), old = try png((200, 50, 0)).base64EncodedString()
        for body in [
            "{\"inputs\": {\"previous_image\": {\"b64\": \"\(old)\"}, \"new_image\": {\"b64\": \"\(new)\"}}}",
            "[{\"b64\": \"\(new)\"}, {\"b64\": \"\(old)\"}]",
        ] {
            let answer = try predict(daemon, "pictures-2-in-1-out", body, ["-H", "Accept: image/png"])
            #expect(answer.status == 200, "\(answer.text.prefix(300))")
            #expect(try isUniform(answer.body, (125, 125, 150)))
        }
        let raw = try Curl.run(
            daemon.url + "/v1/models/pictures-2-in-1-out/predict", ["--data-binary", "@-"],
            input: try png((1, 2, 3)))
        #expect(raw.status == 400 && raw.error.contains("\"new_image\", \"previous_image\""), "\(raw.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    // MARK: Batches

    @Test("a /v2 batch over an open axis is computed row by row; unequal or too large batches get 400")
    func batchesOverAnOpenAxis() throws {
        let daemon = try Daemon(["--models", Self.folder.path])
        func infer(_ ages: [Double], _ sexes: [Int], _ ranks: [Int]) throws -> Answer {
            let inputs =
                [("age", "FP32", "\(ages)", ages.count), ("sex", "INT64", "\(sexes)", sexes.count)]
                + [("rank", "INT32", "\(ranks)", ranks.count)]
            let texts = inputs.map { name, type, data, count in
                "{\"name\": \"\(name)\", \"datatype\": \"\(type)\", \"shape\": [\(count), 1], \"data\": \(data)}"
            }
            return try Curl.run(
                daemon.url + "/v2/models/tensorflow-scalars/infer", ["--data-binary", "@-"],
                input: Data("{\"inputs\": [\(texts.joined(separator: ","))]}".utf8))
        }
        // age * sex - rank
        let three = try infer([1, 2, 3], [4, 5, 6], [7, 8, 9])
        let output = (three.json["outputs"] as? [[String: Any]])?.first
        #expect(output?["shape"] as? [Int] == [3, 1] && output?["data"] as? [Double] == [-3, 2, 9], "\(three.text)")
        let unequal = try infer([1, 2, 3], [4, 5], [7, 8, 9])
        #expect(unequal.status == 400 && unequal.code == "invalid_input", "\(unequal.text)")
        for word in ["\"sex\"", "a batch of 3", "\"age\"", "found 2"] {
            #expect(unequal.error.contains(word), "\(word): \(unequal.error)")
        }
        let many = [Int](repeating: 1, count: 100)
        let tooMany = try infer(many.map(Double.init), many, many)
        #expect(tooMany.status == 400 && tooMany.error.contains("found 100"), "\(tooMany.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    // MARK: Bundles that are refused

    @Test("a TensorIO bundle that cannot be served fails with the reason, and good bundles are served")
    func whatCannotBeServedIsRefusedWithAReason() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "ocelli-refused-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let number = Self.folder.appendingPathComponent("number.tiobundle")
        func add(_ name: String, _ old: String, _ new: String) throws {
            let bundle = folder.appendingPathComponent(name + ".tiobundle")
            try FileManager.default.copyItem(at: number, to: bundle)
            let file = bundle.appendingPathComponent("model.json")
            let text = try String(contentsOf: file, encoding: .utf8)
            #expect(text.contains(old), "\(name)")
            try text.replacingOccurrences(of: old, with: new).write(to: file, atomically: true, encoding: .utf8)
        }
        try add("only-trains", "[\"predict\"]", "[\"train\"]")
        try add("evaluates", "[\"predict\"]", "[\"train\", \"eval\"]")
        try add("placeholder", "\"model\": {", "\"placeholder\": true, \"model\": {")
        try add("no-name", "\"name\": \"number\",", "")
        try add("wrong-model-file", "model.tflite", "other.tflite")
        try add(
            "pytorch", "\"file\": \"model.tflite\", \"quantized\": false, \"backend\": \"tflite\"",
            "\"file\": \"model.pt\"")
        try add("wrong-type-of-elements", "\"shape\": [1]}", "\"shape\": [1], \"dtype\": \"uint8\"}")
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("no-json.tiobundle"), withIntermediateDirectories: true)
        let daemon = try Daemon(["--models", folder.path, "--models", Self.folder.path, "--access-log=false"])
        for (name, words) in [
            ("only-trains", ["model.modes", "lacks \"predict\"", "\"train\""]),
            ("no-name", ["name: is missing"]),
            ("wrong-model-file", ["model.file", "\"other.tflite\" is not in the bundle"]),
            ("pytorch", ["model.backend", "\"model.pt\"", "\"tflite\""]),
            ("wrong-type-of-elements", ["inputs[0].dtype", "\"uint8\"", "float32"]),
            ("no-json", ["model.json", "missing"]),
        ] {
            let answer = try Curl.run(daemon.url + "/v1/models/\(name)")
            let reason = answer.json["reason"] as? String ?? ""
            #expect(answer.json["state"] as? String == "failed", "\(name): \(answer.text)")
            for word in words { #expect(reason.contains(word), "\(name): \(word): \(reason)") }
            let refused = try predict(daemon, name, "[2]")
            #expect(refused.status == 503 && refused.code == "model_not_ready", "\(name): \(refused.text)")
        }
        // It waits for its model.
        #expect(try Curl.run(daemon.url + "/v1/models/placeholder").json["placeholder"] as? Bool == true)
        let waiting = try predict(daemon, "placeholder", "[2]")
        #expect(waiting.status == 503 && waiting.error.contains("a placeholder"), "\(waiting.text)")
        for name in ["number", "evaluates"] {
            #expect(same(try predict(daemon, name, "[2]").json["outputs"], ["output": 25]), "\(name)")
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }
}
