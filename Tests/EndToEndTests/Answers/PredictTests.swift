import Foundation
import TestSupport
import Testing

/// `POST /v1/models/{name}/predict` with TensorIO's own bundles: the outputs stated in their README, for every form of
/// the body.
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)), .serialized)
struct PredictTests {
    private static func daemon() throws -> Daemon {
        let folder = try #require(SharedData.folder)
        return try Daemon([
            "--models", folder.appendingPathComponent("tensorio/tflite").path,
            "--models", folder.appendingPathComponent("models").path,
        ])
    }

    private func predict(_ daemon: Daemon, _ model: String, _ body: String, _ query: String = "") throws -> Answer {
        try Curl.run(
            daemon.url + "/v1/models/\(model)/predict\(query)", ["--data-binary", "@-"], input: Data(body.utf8))
    }

    private func outputs(_ answer: Answer) -> NSDictionary { answer.json["outputs"] as? NSDictionary ?? [:] }

    @Test("TensorIO's TensorFlow Lite bundles give the outputs of their README, for each form of body")
    func tensorFlowLiteBundles() throws {
        let daemon = try Self.daemon()
        for body in [
            "{\"inputs\": {\"input\": 2}}", "{\"inputs\": {\"input\": [2]}}", "{\"inputs\": [2]}", "[2]", "[[2.0]]",
        ] {
            let answer = try predict(daemon, "1_in_1_out_number_test", body)
            #expect(answer.status == 200 && outputs(answer) == ["output": 25], "\(body): \(answer.text)")
        }
        for body in [
            "{\"inputs\": {\"input\": [1, 2, 3, 4]}}", "{\"inputs\": {\"input\": [[1, 2, 3, 4]]}}",
            "{\"inputs\": [[1, 2, 3, 4]]}", "{\"inputs\": [1, 2, 3, 4]}", "[[1, 2, 3, 4]]",
        ] {
            let answer = try predict(daemon, "1_in_1_out_vectors_test", body)
            #expect(answer.status == 200 && outputs(answer) == ["output": [2, 2, 4, 4]], "\(body): \(answer.text)")
        }
        for body in [
            "{\"inputs\": {\"input2\": [10, 20, 30, 40], \"input1\": [1, 2, 3, 4]}}",
            "{\"inputs\": [[1, 2, 3, 4], [10, 20, 30, 40]]}", "[[1, 2, 3, 4], [[10, 20, 30, 40]]]",
        ] {
            let answer = try predict(daemon, "2_in_2_out_vectors_test", body)
            #expect(answer.status == 200 && outputs(answer) == ["output1": 240, "output2": 64], "\(answer.text)")
        }
        let version = try predict(daemon, "1_in_1_out_number_test/versions/1", "[2]")
        #expect(version.status == 200 && outputs(version) == ["output": 25])
        let broken = try Curl.run(daemon.url + "/v1/models/invalid-model-bad-json")
        #expect((broken.json["reason"] as? String)?.contains("model.json: is not valid JSON") == true, "\(broken.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("TensorIO's TensorFlow bundles give their README's outputs; integer inputs refuse other numbers")
    func tensorFlowBundles() throws {
        let folder = try #require(SharedData.folder)
        let daemon = try Daemon(["--models", folder.appendingPathComponent("tensorio/tensorflow").path])
        let vector = try predict(daemon, "1_in_1_out_vectors_test", "{\"inputs\": {\"input\": [1, 2, 3, 4]}}")
        #expect(outputs(vector) == ["output": [2, 2, 4, 4]], "\(vector.text)")
        let integer = try predict(daemon, "int32io_test", "{\"inputs\": {\"input\": 2}}")
        #expect(outputs(integer) == ["output": 25], "\(integer.text)")
        for body in ["[2.5]", "[3000000000]"] {
            let answer = try predict(daemon, "int32io_test", body)
            #expect(answer.status == 400 && answer.code == "invalid_input", "\(answer.text)")
            #expect(answer.error.contains("\"input\"") && answer.error.contains("integer"), "\(answer.text)")
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("a model from picture to picture answers PNG or JSON depending on Accept, and takes base64")
    func picturesInAndOut() throws {
        let daemon = try Self.daemon()
        let picture = try #require(SharedData.folder).appendingPathComponent("images/owl.jpg")
        let url = daemon.url + "/v1/models/1_in_1_out_pixelbuffer_identity_test/predict"
        let png = try Curl.post(picture, to: url, ["-H", "Accept: image/png"])
        #expect(png.status == 200 && png.headers["content-type"] == "image/png")
        #expect(png.headers["vary"] == "Accept")
        #expect(png.body.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        let json = try Curl.post(picture, to: url, ["-H", "Content-Type: image/jpeg"])
        #expect(json.headers["vary"] == "Accept")
        let prefersJSON = try Curl.post(picture, to: url, ["-H", "Accept: application/json, image/png;q=0.5"])
        #expect(prefersJSON.headers["content-type"] == "application/json")
        let inner = outputs(json)["output"] as? [String: String] ?? [:]
        #expect(Data(base64Encoded: inner["b64"] ?? "") == png.body)
        // Once more through the model: the same picture again, pixel by pixel, because it has 224 by 224 pixels
        // already.
        let again = try Curl.run(
            url, ["-H", "Accept: image/png;q=0.9, */*", "--data-binary", "@-"], input: png.body)
        #expect(again.body == png.body)
        let text = "{\"inputs\": {\"input\": {\"b64\": \"\(png.body.base64EncodedString())\"}}}"
        let encoded = try Curl.run(
            url, ["-H", "Accept: image/png", "--data-binary", "@-"], input: Data(text.utf8))
        #expect(encoded.body == png.body, "\(encoded.text.prefix(300))")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("predict with a labelled output gives scores by label, cut by `top` and `threshold`")
    func predict_labelledOutput_givesLabelsAndTop() throws {
        let daemon = try Self.daemon()
        let picture = try #require(SharedData.folder).appendingPathComponent("images/owl.jpg")
        let url = daemon.url + "/v1/models/cifar10_resnet_float/predict"
        let all = outputs(try Curl.post(picture, to: url))["Identity"] as? [String: Double] ?? [:]
        #expect(all.count == 10)
        #expect(try Curl.post(picture, to: url).headers["vary"] == nil, "Accept decides nothing here")
        #expect(all.max { $0.value < $1.value }?.key == "bird")
        let top = outputs(try Curl.post(picture, to: url + "?top=2"))["Identity"] as? [[String: Any]] ?? []
        #expect(top.count == 2 && top.first?["label"] as? String == "bird" && top.first?["index"] as? Int == 2)
        let over = outputs(try Curl.post(picture, to: url + "?threshold=0.5"))["Identity"] as? [[String: Any]] ?? []
        #expect(over.count == 1)
        for query in ["?top=0", "?top=11", "?threshold=2", "?tops=1"] {
            #expect(try Curl.post(picture, to: url + query).status == 400)
        }
        let none = try predict(daemon, "1_in_1_out_number_test", "[2]", "?top=1")
        #expect(none.status == 400 && none.code == "bad_request", "\(none.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("predict of several items or form parts gives a result or an error for each")
    func predict_severalItems_givesAResultForEach() throws {
        let daemon = try Self.daemon()
        let answer = try predict(
            daemon, "1_in_1_out_vectors_test",
            "{\"items\": [{\"input\": [1, 2, 3, 4]}, [[3, 3, 3, 3]], [5, 6, 7, 8]]}")
        let results = answer.json["results"] as? [[String: Any]] ?? []
        #expect(results.count == 3, "\(answer.text)")
        #expect((results.first?["outputs"] as? NSDictionary) == ["output": [2, 2, 4, 4]])
        let pictures = ["owl.jpg", "tio_cat.jpg"].map { "image=@" + (SharedData.folder?.path ?? "") + "/images/" + $0 }
        let parts = try Curl.run(
            daemon.url + "/v1/models/cifar10_resnet_float/predict?top=1",
            pictures.flatMap { ["-F", $0] } + ["-F", "image=@\(SharedData.packageRoot.path)/LICENSE"])
        let labels = (parts.json["results"] as? [[String: Any]] ?? []).map { result in
            ((result["outputs"] as? [String: Any])?["Identity"] as? [[String: Any]])?.first?["label"] as? String
                ?? result["code"] as? String
        }
        #expect(labels == ["bird", "cat", "unsupported_media_type"], "\(parts.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("a wrong predict body gets 400 that names the input and the mistake")
    func mistakesAreNamed() throws {
        let daemon = try Self.daemon()
        let deep = String(repeating: "[", count: 100_000)
        let long = "[" + String(repeating: "1,", count: 1_000_000) + "1]"
        for (body, code, words) in [
            ("{\"inputs\": {\"input\": [1, 2, 3]}}", "invalid_input", ["\"input\"", "4 numbers", "found 3"]),
            ("{\"inputs\": {\"input\": [1, 2, 3, \"x\"]}}", "invalid_input", ["\"input\"", "[3]", "a string"]),
            ("{\"inputs\": {\"input\": [[1, 2], [3, 4]]}}", "invalid_input", ["\"input\"", "[2,2]"]),
            ("{\"inputs\": {\"input\": [1, [2], 3, 4]}}", "invalid_input", ["\"input\"", "[1]"]),
            ("{\"inputs\": {\"input\": [1, 2, 3, NaN]}}", "bad_request", ["\"input\"", "NaN", "line 1, column 32"]),
            ("{\"inputs\": {\"input\": [1, 2, 3, -Infinity]}}", "bad_request", ["\"input\"", "infinity"]),
            ("{\"inputs\": {\"input\": [1, 2, 3, 1e300]}}", "invalid_input", ["\"input\"", "1e300", "[3]"]),
            // A missing value counts as one number, of four.
            ("{\"inputs\": {\"input\": null}}", "invalid_input", ["\"input\"", "4 numbers", "found 1"]),
            ("{\"inputs\": {\"inputs\": [1, 2, 3, 4]}}", "invalid_input", ["\"inputs\"", "did you mean \"input\"?"]),
            ("{\"inputs\": {\"input\": [1,2,3,4], \"more\": 1}}", "invalid_input", ["\"more\""]),
            ("{\"inputs\": {}}", "invalid_input", ["\"input\"", "missing"]),
            ("{\"input\": [1, 2, 3, 4]}", "invalid_input", ["did you mean \"inputs\"?"]),
            ("{\"inputs\": \"x\"}", "invalid_input", ["\"input\"", "a string"]),
            ("{\"items\": []}", "invalid_input", ["empty"]),
            ("{\"items\": [[1, 2, 3, 4], [1]]}", "invalid_input", ["item 2", "\"input\""]),
            ("{\"inputs\": {\"input\": [1, 2, 3, 4]}", "bad_request", ["not valid JSON", "line 1"]),
            ("hello", "invalid_input", ["JSON", "\"input\""]),
            (deep, "invalid_input", ["\"input\"", "deeper"]),
            (long, "invalid_input", ["\"input\"", "found more than"]),
            ("{\"inputs\": " + deep, "invalid_input", ["deeper"]),
        ] as [(String, String, [String])] {
            let answer = try predict(daemon, "1_in_1_out_vectors_test", body)
            #expect(answer.status == 400 && answer.code == code, "\(body.prefix(80)): \(answer.text)")
            for word in words { #expect(answer.error.contains(word), "\(word): \(answer.error)") }
        }
        let image = try predict(daemon, "cifar10_resnet_float", "{\"inputs\": {\"input_1\": {\"b64\": \"!\"}}}")
        #expect(image.status == 400 && image.error.contains("base64"), "\(image.text)")
        let missing = try predict(daemon, "nothing", "[]")
        #expect(missing.status == 404 && missing.code == "model_not_found")
        let get = try Curl.run(daemon.url + "/v1/models/cifar10_resnet_float/predict")
        #expect(get.status == 405 && get.headers["allow"] == "POST")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }
}
