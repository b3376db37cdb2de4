import Foundation
import TestSupport
import Testing

/// A bundle with batches: several pictures of a request run in one inference, with the same scores.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct EngineBatchTests {
    /// The digits bundle for an engine with its own `runtime`, in a folder of models.
    private func folder(_ engine: String, runtime: String) throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-batch-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let bundle = folder.appendingPathComponent("digits")
        try FileManager.default.copyItem(
            at: TestEngines.models(for: engine).appendingPathComponent("digits"), to: bundle)
        let file = bundle.appendingPathComponent("model.json")
        let text = try String(contentsOf: file, encoding: .utf8)
        let end = try #require(text.lastIndex(of: "}"))
        let comma = text[..<end].last { !$0.isWhitespace } == "," ? "" : ","
        try "\(text[..<end])\(comma) \"runtime\": \(runtime) }".write(to: file, atomically: true, encoding: .utf8)
        return folder
    }

    @Test(
        "pictures batched in the engine have the scores of single ones; only a bad picture fails",
        arguments: TestEngines.names)
    func aBatchHasTheScoresOfSinglesAndOneBadPictureIsItsOwn(engine: String) throws {
        let folder = try folder(engine, runtime: "{ \"batch\": 4, \"warmup\": { \"runs\": 2 } }")
        defer { try? FileManager.default.removeItem(at: folder) }
        let daemon = try Daemon(["--models", folder.path, "--cache-dir", "", "--engine", engine])
        let single = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify")
        let seven = "image=@\(BadInputTests.seven.path)"
        let bad = "image=@\(SharedData.packageRoot.appendingPathComponent("models/digits/labels.txt").path)"
        // More than two inferences of four.
        var arguments: [String] = []
        for part in 0..<11 { arguments += ["-F", part == 5 ? bad : seven] }
        let answer = try Curl.run(daemon.url + "/v1/classify", arguments)
        let results = try #require(answer.json["results"] as? [[String: Any]], "\(answer.text)")
        #expect(results.count == 11)
        for (part, result) in results.enumerated() {
            if part == 5 {
                #expect(result["code"] as? String == "unsupported_media_type", "\(result)")
                #expect((result["error"] as? String ?? "").hasPrefix("part 6: "), "\(result)")
                continue
            }
            let best = (result["classifications"] as? [[String: Any]])?.first
            #expect(best?["label"] as? String == "7", "\(result)")
            let confidence = best?["confidence"] as? Double ?? -1
            #expect(abs(confidence - single.topConfidence) < 1e-5, "\(confidence), alone \(single.topConfidence)")
        }
        let json = try Curl.run(daemon.url + "/v1/models/digits").json
        let counts = json["predictions"] as? [String: Any]
        #expect(counts?["succeeded"] as? Int == 11 && counts?["failed"] as? Int == 1, "\(json)")

        let predicted = try Curl.run(daemon.url + "/v1/models/digits/predict", arguments)
        let items = try #require(predicted.json["results"] as? [[String: Any]], "\(predicted.text)")
        #expect(items.count == 11 && items.filter { $0["error"] != nil }.count == 1, "\(predicted.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// The engine's tensors through `/v2`, once with batches and once without.
    @Test(
        "/v2 batches of at most four have the tensors of single inferences; a bad picture fails the request",
        arguments: TestEngines.names)
    func aBatchOfV2HasTheTensorsOfSingles(engine: String) throws {
        let folder = try folder(engine, runtime: "{ \"batch\": 4 }")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.copyItem(
            at: TestEngines.models(for: engine).appendingPathComponent("digits"),
            to: folder.appendingPathComponent("singles"))
        let daemon = try Daemon(["--models", folder.path, "--cache-dir", "", "--engine", engine])
        let seed = UInt64.random(in: 1 ... .max)
        var state = seed
        let items = 11, size = 64 * 64
        let floats = (0..<items * size).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Float(state >> 40) / Float(1 << 24)
        }
        let sides = engine == "litert" ? "64,64,1" : "1,64,64"
        let head =
            "{\"inputs\":[{\"name\":\"image\",\"shape\":[\(items),\(sides)],\"datatype\":\"FP32\","
            + "\"parameters\":{\"binary_data_size\":\(floats.count * 4)}}]}"
        func infer(_ model: String, _ body: Data, _ fields: [String] = []) throws -> Answer {
            try Curl.run(daemon.url + "/v2/models/\(model)/infer", ["--data-binary", "@-"] + fields, input: body)
        }
        func data(_ answer: Answer) throws -> (shape: [Int], values: [Double]) {
            let output = try #require((answer.json["outputs"] as? [[String: Any]])?.first, "\(answer.text)")
            return (output["shape"] as? [Int] ?? [], output["data"] as? [Double] ?? [])
        }
        let body = Data(head.utf8) + floats.withUnsafeBytes { Data($0) }
        let length = ["-H", "Inference-Header-Content-Length: \(head.utf8.count)"]
        let together = try data(try infer("digits", body, length)), alone = try data(try infer("singles", body, length))
        #expect(together.shape == [items, 10] && alone.shape == together.shape)
        #expect(together.values.count == items * 10)
        #expect(zip(together.values, alone.values).allSatisfy { abs($0 - $1) < 1e-5 }, "seed \(seed)")
        #expect(Set(together.values).count > items, "the items are not all the same")

        // Encoded pictures, one of them broken, which fails the request.
        let seven = try Data(contentsOf: BadInputTests.seven).base64EncodedString()
        func pictures(bad: Int?) -> Data {
            let texts = (0..<6).map { "\"\($0 == bad ? "bm9uZQ==" : seven)\"" }.joined(separator: ",")
            return Data(
                "{\"inputs\":[{\"name\":\"image\",\"shape\":[6],\"datatype\":\"BYTES\",\"data\":[\(texts)]}]}".utf8)
        }
        let seen = try data(try infer("digits", pictures(bad: nil)))
        #expect(seen.shape == [6, 10] && seen.values.count == 60)
        for row in 0..<6 { #expect((seen.values[row * 10 + 7]) > 0.9) }
        let refused = try infer("digits", pictures(bad: 4))
        #expect(refused.status == 415 && refused.error.hasPrefix("item 5 of the batch: "), "\(refused.text)")

        // The engine ran at most four at a time, and some of them together.
        for (model, maximum) in [("digits", 4), ("singles", 1)] {
            let answer = try Curl.run(daemon.url + "/v2/models/\(model)/stats")
            let stats = try #require((answer.json["model_stats"] as? [[String: Any]])?.first)
            let batches = try #require(stats["batch_stats"] as? [[String: Any]])
            let sizes = batches.compactMap { $0["batch_size"] as? Int }
            let counts = batches.compactMap { ($0["compute_infer"] as? [String: Any])?["count"] as? Int }
            #expect(sizes.max() == maximum && sizes.count == counts.count, "\(answer.text)")
            #expect(stats["execution_count"] as? Int == counts.reduce(0, +), "\(answer.text)")
            if maximum == 1 {
                #expect(stats["inference_count"] as? Int == items && counts == [items], "\(answer.text)")
            }
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// The file's batch axis is one: the bundle's `runtime.batch` opens it for `/v2` too.
    @Test("`runtime.batch` lets a file with a fixed batch axis of 1 take larger /v2 batches")
    func aFixedBatchAxisIsOpened() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-batch-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = "precision=\"FP32\"><dim>1</dim><dim>4</dim></port>"
        let relu = """
            <?xml version="1.0"?><net name="m" version="11"><layers>
            <layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,4" element_type="f32"/>
            <output><port id="0" names="x" \(port)</output></layer>
            <layer id="1" name="r" type="ReLU" version="opset1">
            <input><port id="0" \(port)</input><output><port id="1" names="y" \(port)</output></layer>
            <layer id="2" name="z" type="Result" version="opset1"><input><port id="0" \(port)</input></layer>
            </layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
            <edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>
            """
        for (name, runtime) in [("batches", "{ \"batch\": 3 }"), ("singles", "{}")] {
            let bundle = folder.appendingPathComponent(name)
            try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
            try relu.write(to: bundle.appendingPathComponent("m.xml"), atomically: true, encoding: .utf8)
            try """
            { "name": "m", "id": "m", "version": "1", "model": { "file": "m.xml", "backend": "openvino" },
              "inputs": [ { "name": "x", "type": "array", "shape": [1, 4] } ],
              "outputs": [ { "name": "y", "type": "array", "shape": [1, 4] } ], "runtime": \(runtime) }
            """.write(to: bundle.appendingPathComponent("model.json"), atomically: true, encoding: .utf8)
        }
        let daemon = try Daemon(["--models", folder.path, "--cache-dir", ""])
        let items = 7
        let values = (0..<items * 4).map { Double($0 % 5) - 2 }
        let body = "{\"inputs\":[{\"name\":\"x\",\"shape\":[\(items),4],\"datatype\":\"FP32\",\"data\":\(values)}]}"
        func infer(_ model: String) throws -> Answer {
            try Curl.run(
                daemon.url + "/v2/models/\(model)/infer", ["--data-binary", "@-"], input: Data(body.utf8))
        }
        let answer = try infer("batches")
        let output = try #require((answer.json["outputs"] as? [[String: Any]])?.first, "\(answer.text)")
        #expect(output["shape"] as? [Int] == [items, 4])
        #expect(output["data"] as? [Double] == values.map { max($0, 0) })
        let inputs = try Curl.run(daemon.url + "/v2/models/batches").json["inputs"] as? [[String: Any]]
        #expect(inputs?.first?["shape"] as? [Int] == [-1, 4])
        let refused = try infer("singles")
        #expect(refused.status == 400 && refused.error.contains("expected shape [1,4], found [7,4]"), "\(refused.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }
}
