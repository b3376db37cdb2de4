import Foundation
import TestSupport
import Testing

/// The Open Inference Protocol over REST: by hand, by NVIDIA's client, and by tools that read Ocelli's OpenAPI
/// document.
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)), .serialized)
struct OpenInferenceTests {
    private static func daemon(_ arguments: [String] = []) throws -> Daemon {
        let folder = try #require(SharedData.folder)
        return try Daemon(
            [
                "--models", folder.appendingPathComponent("models").path,
                "--models", folder.appendingPathComponent("tensorio/tflite").path,
            ] + arguments)
    }

    private func post(_ url: String, _ body: String, _ arguments: [String] = []) throws -> Answer {
        try Curl.run(url, ["--data-binary", "@-"] + arguments, input: Data(body.utf8))
    }

    @Test(
        "NVIDIA's tritonclient gets the expected answers from /v2",
        .enabled(if: PythonClients.isAvailable, Comment(rawValue: PythonClients.absence)))
    func tritonClient() throws {
        let daemon = try Self.daemon()
        let address = String(daemon.url.dropFirst("http://".count))
        let result = try PythonClients.run("triton_client.py", [address, SharedData.folder?.path ?? ""])
        #expect(result.status == 0, "\(result.errors)\n\(daemon.log)")
        #expect(result.text == "ok\n")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test(
        "/openapi.json is valid, and schemathesis finds each answer as described",
        .enabled(if: PythonClients.isAvailable, Comment(rawValue: PythonClients.absence)))
    func openAPIDescribesWhatIsServed() throws {
        let daemon = try Self.daemon(["--repository-control", "none"])
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-openapi-\(getpid()).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try Curl.run(daemon.url + "/openapi.json").body.write(to: file)
        let valid = try PythonClients.tool("openapi-spec-validator", [file.path])
        #expect(valid.status == 0, "\(valid.text) \(valid.errors)")
        // Generates good and bad requests for every route: the answers must be as described.
        let checks = ["content_type_conformance", "response_schema_conformance", "status_code_conformance"]
        let result = try PythonClients.tool(
            "schemathesis",
            [
                "run", file.path, "--url", daemon.url, "--max-examples",
                "\(LongTests.times(3, long: 20))", "--seed", "1", "--phases",
                "examples,coverage,fuzzing", "--checks", checks.joined(separator: ","), "--no-color",
            ])
        #expect(result.status == 0, "\(result.text.suffix(4000))")
        let good = try Curl.run(daemon.url + "/healthz")
        #expect(good.status == 200)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// Detectors, masks, points, vectors, a pipeline, Core ML files, tables, several inputs, pictures, a taught model.
    @Test(
        "the OpenAPI document of each model is valid, and the model's answers are as it describes",
        .enabled(if: PythonClients.isAvailable, Comment(rawValue: PythonClients.absence)))
    func openAPIOfAModelDescribesItsAnswers() throws {
        let folders = ["pipelines", "tabular/models", "tensorio"].map { TypedClientCase.fixtures + "/" + $0 }
        let taught = try TaughtDaemon(
            TypedClientCase.flags(TypedClientCase.all.filter { $0.model != "digits" }, folders: folders))
        try taught.create("parts")
        let pictures = TypedClientCase.fixtures + "/observations/picture"
        for (label, number) in [("bolt", 0), ("nut", 1)] {
            _ = try Curl.run(
                taught.url + "/v1/taught/parts/examples?label=" + label, ["--data-binary", "@\(pictures)\(number).png"])
        }
        let models = try #require(try taught.get("/v1/models").json["models"] as? [[String: Any]])
        let names = models.filter { $0["state"] as? String == "ready" }.compactMap { $0["name"] as? String }
        #expect(names.count > 50 && names.contains("parts"), "\(names)")
        let checked = try PythonClients.run("model_documents.py", [taught.url, TypedClientCase.scene] + names)
        #expect(checked.status == 0, "\(checked.text.suffix(300))\(checked.errors.suffix(4000))")
        #expect(checked.text.split(separator: "\n").count == names.count)
        let first = try taught.get("/v1/models/digits/openapi.json")
        let tag = try #require(first.headers["etag"])
        #expect(try taught.get("/v1/models/digits/openapi.json", ["-H", "If-None-Match: \(tag)"]).status == 304)
        let absent = try taught.get("/v1/models/nothing/openapi.json")
        #expect(absent.status == 404 && absent.code == "model_not_found", "\(absent.text)")
        #expect(try Curl.run(taught.url + "/v1/models/digits/openapi.json", ["-X", "POST"]).status == 405)
    }

    @Test("/v2 health and metadata answer GET and HEAD; unknown models, versions and methods get 404 or 405")
    func healthAndMetadata() throws {
        let folder = try #require(SharedData.folder)
        let daemon = try Daemon(["--models", folder.appendingPathComponent("models").path])
        for path in ["/v2", "/v2/", "/v2/health/live", "/v2/health/ready", "/v2/models/cifar10_resnet_float/ready"] {
            #expect(try Curl.run(daemon.url + path).status == 200, "\(path)")
            let head = try Curl.run(daemon.url + path, ["--head"])
            #expect(head.status == 200 && head.body.isEmpty, "\(path)")
        }
        let versioned = try Curl.run(daemon.url + "/v2/models/cifar10_resnet_float/versions/1")
        #expect(versioned.json["platform"] as? String == "tensorflow_lite", "\(versioned.text)")
        for (path, status, code) in [
            ("/v2/models/nothing", 404, "model_not_found"), ("/v2/models/nothing/ready", 404, "model_not_found"),
            ("/v2/models/cifar10_resnet_float/versions/9", 404, "version_not_found"), ("/v2/nothing", 404, "not_found"),
            ("/v2/models/cifar10_resnet_float/infer", 405, "method_not_allowed"),
            ("/v2/models/nothing/stats", 404, "model_not_found"), ("/v2/repository/index", 405, "method_not_allowed"),
        ] {
            let answer = try Curl.run(daemon.url + path)
            #expect(answer.status == status && answer.code == code, "\(path): \(answer.text)")
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("a wrong /v2 infer request gets 400 that names the mistake; a timeout of 1 µs gets 504")
    func mistakesAreNamed() throws {
        let daemon = try Self.daemon()
        let url = daemon.url + "/v2/models/1_in_1_out_vectors_test/infer"
        func input(_ text: String) -> String { "{\"inputs\": [{\(text)}]}" }
        let good = "\"name\": \"input\", \"shape\": [1, 4], \"datatype\": \"FP32\""
        for body in [
            input("\(good), \"data\": [1, 2, 3, 4]"), input("\(good), \"data\": [[1, 2, 3, 4]]"),
            input("\"data\": [1, 2, 3, 4], \(good)"),
        ] {
            let answer = try post(url, body)
            let output = (answer.json["outputs"] as? [[String: Any]])?.first
            #expect(output?["data"] as? [Double] == [2, 2, 4, 4], "\(answer.text)")
            #expect(output?["shape"] as? [Int] == [1, 4] && output?["datatype"] as? String == "FP32")
        }
        for (body, words) in [
            ("", ["JSON"]), ("[]", ["an object"]), ("{}", ["inputs"]), (input(""), ["name"]),
            (input(good), ["\"input\"", "data"]), (input("\(good), \"data\": [1, 2, 3]"), ["\"input\"", "4", "3"]),
            (input("\(good), \"data\": [1, 2, 3, NaN]"), ["\"input\"", "NaN"]),
            (input("\(good), \"data\": [1, 2, 3, \"4\"]"), ["\"input\"", "[3]", "a string"]),
            (input("\(good), \"data\": [[1, 2], [3, 4]]"), ["\"input\"", "[2,2]"]),
            (
                input("\"name\": \"input\", \"shape\": [4], \"datatype\": \"FP32\", \"data\": [1, 2, 3, 4]"),
                ["[1,4]", "[4]"]
            ),
            (input("\"name\": \"input\", \"shape\": [1, -4], \"datatype\": \"FP32\", \"data\": []"), ["shape[1]"]),
            (
                input("\"name\": \"input\", \"shape\": [9223372036854775807, 4], \"datatype\": \"FP32\", \"data\": []"),
                ["[1,4]"]
            ),
            (
                input("\"name\": \"input\", \"shape\": [1, 4], \"datatype\": \"INT8\", \"data\": [1, 2, 3, 4]"),
                ["FP32", "INT8"]
            ),
            (
                input("\"name\": \"inputt\", \"shape\": [1, 4], \"datatype\": \"FP32\", \"data\": []"),
                ["did you mean \"input\"?"]
            ),
            (input("\(good), \"parameters\": {\"binary_data_size\": 16}"), ["16 bytes", "found 0"]),
            (input("\(good), \"parameters\": {\"shared_memory_region\": \"x\"}"), ["shared memory"]),
            ("{\"inputs\": [{\(good), \"data\": [1,2,3,4]}, {\(good), \"data\": [1,2,3,4]}]}", ["twice"]),
            (
                "{\"inputs\": [{\(good), \"data\": [1,2,3,4]}], \"outputs\": [{\"name\": \"x\"}]}",
                ["\"x\"", "\"output\""]
            ),
        ] {
            let answer = try post(url, body)
            #expect(answer.status == 400, "\(body): \(answer.text)")
            #expect(answer.json["request_id"] != nil && !answer.code.isEmpty)
            for word in words { #expect(answer.error.contains(word), "\(word): \(answer.error)") }
        }
        for length in ["-1", "x", "1000"] {
            let answer = try post(url, "{}", ["-H", "Inference-Header-Content-Length: \(length)"])
            #expect(answer.status == 400 && answer.error.contains("Inference-Header-Content-Length"), "\(answer.text)")
        }
        let late = try post(
            url, "{\"parameters\": {\"timeout\": 1}, \"inputs\": [{\(good), \"data\": [1,2,3,4]}]}")
        #expect(late.status == 504 && late.code == "deadline_exceeded", "\(late.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("an ONNX file without a bundle is served over /v2, for any batch size")
    func aBareModelFileIsServedAsItIs() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-bare-\(getpid())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = try #require(SharedData.folder).appendingPathComponent("models/cifar10_cnn_onnx/model.onnx")
        try FileManager.default.copyItem(at: file, to: folder.appendingPathComponent("cnn.onnx"))
        let daemon = try Daemon(["--models", folder.path])
        let metadata = try Curl.run(daemon.url + "/v2/models/cnn")
        let inputs = metadata.json["inputs"] as? [[String: Any]]
        #expect(inputs?.first?["shape"] as? [Int] == [-1, 3, 32, 32], "\(metadata.text)")
        for count in [1, 3] {
            let zeros = "[" + Array(repeating: "0", count: count * 3072).joined(separator: ",") + "]"
            let answer = try post(
                daemon.url + "/v2/models/cnn/infer",
                "{\"inputs\": [{\"name\": \"modelInput\", \"datatype\": \"FP32\", \"shape\": [\(count), 3, 32, 32], \"data\": \(zeros)}]}"
            )
            let output = (answer.json["outputs"] as? [[String: Any]])?.first
            #expect(output?["shape"] as? [Int] == [count, 10], "\(answer.text.prefix(300))")
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("local requests may load and unload models by default; --repository-control none refuses with 403")
    func repositoryControlIsASetting() throws {
        let none = try Self.daemon(["--repository-control", "none"])
        for verb in ["load", "unload"] {
            let answer = try post(none.url + "/v2/repository/models/cifar10_resnet_float/\(verb)", "")
            #expect(answer.status == 403 && answer.code == "forbidden", "\(answer.text)")
        }
        let extensions = try Curl.run(none.url + "/v2").json["extensions"] as? [String] ?? []
        #expect(!extensions.contains("model_repository"))
        #expect(try post(none.url + "/v2/repository/index", "{\"ready\": true}").status == 200)
        #expect(none.stop() == 0, "\(none.log)")
        let folder = try #require(SharedData.folder)
        let local = try Daemon(["--models", folder.appendingPathComponent("models").path])
        #expect(try post(local.url + "/v2/repository/models/cifar10_resnet_float/unload", "").status == 200)
        #expect(
            try Curl.run(local.url + "/v2/health/ready").status == 200, "what was unloaded on request is not missed")
        #expect(try Curl.run(local.url + "/v2/models/cifar10_resnet_float/ready").status == 503)
        #expect(try post(local.url + "/v2/repository/models/cifar10_resnet_float/load", "{}").status == 200)
        #expect(try Curl.run(local.url + "/v2/models/cifar10_resnet_float/ready").status == 200)
        #expect(local.stop() == 0, "\(local.log)")
    }
}
