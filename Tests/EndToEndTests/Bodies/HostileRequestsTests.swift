import Foundation
import TestSupport
import Testing

/// Requests with every kind of mistake, against one daemon: each gets a 4xx in the common form of errors, with a
/// message that names the object, what was expected and what was found; and the daemon continues.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct HostileRequestsTests {
    /// One wrong request.
    private struct Case {
        let path: String
        let body: Data
        let arguments: [String]
        let code: String
        let words: [String]

        init(_ path: String, _ body: Data, _ code: String, _ words: [String], arguments: [String] = []) {
            self.path = path
            self.body = body
            self.arguments = arguments
            self.code = code
            self.words = words
        }
    }

    /// `/v2/models/f32/infer` takes "x", FP32, rows of three.
    private static func infer(_ body: String, _ code: String, _ words: String...) -> Case {
        Case("/v2/models/f32/infer", Data(body.utf8), code, words)
    }

    private static let x = "\"name\": \"x\", \"shape\": [1, 3], \"datatype\": \"FP32\""

    private static func input(_ members: String, _ code: String, _ words: String...) -> Case {
        Case("/v2/models/f32/infer", Data("{\"inputs\": [{\(members)}]}".utf8), code, words)
    }

    /// A good input "x" after the given members of the request.
    private static func request(_ members: String, _ words: String...) -> Case {
        Case(
            "/v2/models/f32/infer", Data("{\(members), \"inputs\": [{\(x), \"data\": [1, 2, 3]}]}".utf8),
            "invalid_input", words)
    }

    private static func shape(_ shape: String, _ words: String...) -> Case {
        input2("\"name\": \"x\", \"shape\": \(shape), \"datatype\": \"FP32\", \"data\": [1, 2, 3]", words)
    }

    private static func input2(_ members: String, _ words: [String]) -> Case {
        Case("/v2/models/f32/infer", Data("{\"inputs\": [{\(members)}]}".utf8), "invalid_input", words)
    }

    /// JSON followed by binary data; `header` is the value of the field with the JSON's length.
    private static func binary(
        _ json: String, _ data: [UInt8], header: String? = nil, model: String = "f32", _ code: String,
        _ words: String...
    ) -> Case {
        Case(
            "/v2/models/\(model)/infer", Data(json.utf8) + data,
            code, words, arguments: ["-H", "Inference-Header-Content-Length: \(header ?? String(json.utf8.count))"])
    }

    private static func sized(_ size: String, _ more: String = "") -> String {
        "{\"inputs\": [{\(x), \"parameters\": {\"binary_data_size\": \(size)}\(more)}]}"
    }

    private static func picture(_ shape: String, _ data: [UInt8], _ code: String, _ words: String...) -> Case {
        let json =
            "{\"inputs\": [{\"name\": \"image\", \"shape\": \(shape), \"datatype\": \"BYTES\", "
            + "\"parameters\": {\"binary_data_size\": \(data.count)}}]}"
        return Case(
            "/v2/models/picture-quantized-labels/infer", Data(json.utf8) + data,
            code, words, arguments: ["-H", "Inference-Header-Content-Length: \(json.utf8.count)"])
    }

    private static func predict(_ model: String, _ body: String, _ code: String, _ words: String...) -> Case {
        Case("/v1/models/\(model)/predict", Data(body.utf8), code, words)
    }

    private static let bad = "bad_request", wrong = "invalid_input"

    // MARK: The cases

    private static var texts: [Case] {
        [
            infer("", bad, "a value", "the end of the text"), infer("[]", wrong, "an object", "an array"),
            infer("\"x\"", wrong, "an object", "a string"),
            infer("{\"inputs\": []} x", bad, "nothing more", "column 16"),
            infer("{\"inputs\": [{\(x), \"data\": [1, 2, 3]}]} x", bad, "nothing more", "column 85"),
            infer("{'inputs': []}", bad, "a member's name"), infer("/* */ {}", bad, "a value"),
            input("\(x), \"data\": [1, 2, 3,]", bad, "\"x\"", "[3]", "a value"),
            input("\(x), \"data\": [NaN, 2, 3]", bad, "\"x\"", "[0]", "NaN"),
            input("\(x), \"data\": [1, Infinity, 3]", bad, "\"x\"", "[1]", "infinity"),
            input("\(x), \"data\": [1, -Infinity, 3]", bad, "\"x\"", "[1]", "infinity"),
            input("\(x), \"data\": [0x1, 2, 3]", bad, "\"x\"", "[1]", "column 74"),
            input("\(x), \"data\": [01, 2, 3]", bad, "\"x\"", "leading zeros"),
            input("\(x), \"data\": [+1, 2, 3]", bad, "\"x\"", "a number"),
            input("\(x), \"data\": [.5, 2, 3]", bad, "\"x\"", "a number"),
            input("\(x), \"data\": [5., 2, 3]", bad, "\"x\"", "after the decimal point"),
            Case("/v2/models/f32/infer", Data([0, 1, 255]), bad, ["not valid JSON"]),
            Case(
                "/v2/models/f32/infer", Data("{\"inputs\": [{\"name\": \"".utf8) + [0xFF, 0xFE] + Data("\"}]}".utf8),
                bad,
                ["UTF-8"]),
            infer("{\"inputs\": [{\"name\": \"\\ud800\"}]}", wrong, "no input of this name"),
            infer(String(repeating: "{\"a\":", count: 5_000) + "1", bad, "nested too deeply", "64"),
            input("\(x), \"data\": " + String(repeating: "[", count: 100_000), wrong, "\"x\"", "16 levels"),
            infer("{\"inputs\": [], \"inputs\": []}", bad, "\"inputs\" twice"),
            input("\"name\": \"x\", \(x), \"data\": [1, 2, 3]", bad, "\"name\" twice"),
            input("\(x), \"data\": [1, 2, 3], \"data\": [4, 5, 6]", bad, "\"data\" twice"),
            infer("{\"id\": \"1\", \"id\": \"2\", \"inputs\": []}", bad, "\"id\" twice", "column 13"),
        ]
    }

    private static var tensors: [Case] {
        [
            infer("{}", wrong, "\"inputs\" is missing"), infer("{\"inputs\": null}", wrong, "an array", "null"),
            infer("{\"inputs\": {}}", wrong, "an array", "an object"),
            infer("{\"inputs\": []}", wrong, "\"x\"", "missing"),
            infer("{\"inputs\": [1]}", wrong, "inputs[0]", "an object", "a number"),
            input(
                "\"shape\": [1, 3], \"datatype\": \"FP32\", \"data\": [1, 2, 3]", wrong, "inputs[0]",
                "\"name\" is missing"),
            input("\"name\": 1", wrong, "inputs[0]", "a string", "a number"),
            input("\"name\": \"y\"", wrong, "\"y\"", "did you mean \"x\"?"),
            input("\"name\": \"\(String(repeating: "y", count: 100_000))\"", wrong, "no input of this name"),
            input(
                "\"name\": \"x\", \"shape\": [1, 3], \"data\": [1, 2, 3]", wrong, "\"x\"", "\"datatype\"", "\"FP32\""),
            input("\"name\": \"x\", \"datatype\": 7", wrong, "\"x\"", "\"datatype\"", "a string", "a number"),
            input("\"name\": \"x\", \"shape\": [1, 3], \"datatype\": \"fp32\", \"data\": []", wrong, "FP32", "fp32"),
            input(
                "\"name\": \"x\", \"shape\": [1, 3], \"datatype\": \"BYTES\", \"data\": [\"a\"]", wrong, "FP32", "BYTES"
            ),
            input(
                "\"name\": \"x\", \"datatype\": \"FP32\", \"data\": [1, 2, 3]", wrong, "\"x\"", "\"shape\" is missing"),
            shape("\"1,3\"", "\"x\"", "\"shape\"", "an array", "a string"), shape("[]", "[-1,3]", "found []"),
            shape("null", "an array", "null"), shape("[3]", "[-1,3]", "found [3]"), shape("[3, 1]", "[3,1]"),
            shape("[1, 3, 1]", "[1,3,1]"), shape("[0, 3]", "[0,3]", "1 or more"),
            shape("[-1, 3]", "shape[0]", "-1"),
            shape("[1.5, 3]", "shape[0]", "1.5"), shape("[[1], 3]", "shape[0]", "an array"),
            shape("[true, 3]", "shape[0]", "true or false"), shape("[\"1\", 3]", "shape[0]", "a string"),
            shape("[9223372036854775807, 3]", "fewer elements", "9223372036854775807"),
            shape("[99999999999999999999, 3]", "shape[0]", "99999999999999999999"),
            shape("[1000000000000, 3]", "3000000000000", "found 3"), shape("[2, 3]", "6 elements", "found 3"),
            shape("[\(Array(repeating: "1", count: 17).joined(separator: ","))]", "16 axes"),
            input(x, wrong, "\"x\"", "\"data\""), input("\(x), \"data\": null", wrong, "\"x\"", "null"),
            input("\(x), \"data\": {}", wrong, "\"x\"", "an object"), input("\(x), \"data\": 1", wrong, "3", "found 1"),
            input("\(x), \"data\": \"abc\"", wrong, "\"x\"", "a string"),
            input("\(x), \"data\": []", wrong, "3", "found 0"),
            input("\(x), \"data\": [1, 2]", wrong, "3 elements", "found 2"),
            input("\(x), \"data\": [1, 2, \"3\"]", wrong, "[2]", "a string"),
            input("\(x), \"data\": [1, null, 3]", wrong, "[1]", "null"),
            input("\(x), \"data\": [true, 2, 3]", wrong, "[0]", "true or false"),
            input("\(x), \"data\": [1, 1e999, 3]", wrong, "[1]", "1e999"),
            input("\(x), \"data\": [[1, 2], [3]]", wrong, "[1]", "not regular"),
            input("\(x), \"data\": [1, [2, 3]]", wrong, "[1]", "not regular"),
            input("\(x), \"data\": [[1], [2], [3]]", wrong, "[1,3]", "[3,1]"),
            input("\(x), \"data\": [[[1, 2, 3]]]", wrong, "[1,3]", "[1,1,3]"),
            input(
                "\(x), \"data\": [\(String(repeating: "1,", count: 1_000_000))1]", wrong, "at most 3 numbers",
                "more than"),
            infer("{\"inputs\": [{\(x), \"data\": [1, 2, 3]}, {\(x), \"data\": [1, 2, 3]}]}", wrong, "\"x\"", "twice"),
            infer("{\"inputs\": [{\(x), \"data\": [1, 2, 3]}, {\"name\": \"q\"}]}", wrong, "\"q\"", "no input"),
        ]
    }

    private static var parameters: [Case] {
        [
            request("\"id\": 5", "\"id\"", "a string", "a number"), request("\"id\": {}", "\"id\"", "an object"),
            request("\"parameters\": []", "\"parameters\"", "an object", "an array"),
            request("\"parameters\": \"x\"", "\"parameters\"", "a string"),
            request("\"parameters\": {\"binary_data_output\": \"yes\"}", "\"binary_data_output\"", "a string"),
            request("\"parameters\": {\"binary_data_output\": 1}", "\"binary_data_output\"", "a number"),
            request("\"parameters\": {\"timeout\": \"x\"}", "\"timeout\"", "microseconds", "a string"),
            request("\"parameters\": {\"timeout\": -1}", "\"timeout\"", "-1"),
            request("\"parameters\": {\"timeout\": 1.5}", "\"timeout\"", "1.5"),
            request("\"parameters\": {\"timeout\": 99999999999999999999}", "\"timeout\"", "99999999999999999999"),
            request("\"parameters\": {\"priority\": \"high\"}", "\"priority\"", "a string"),
            request("\"parameters\": {\"priority\": -1}", "\"priority\"", "-1"),
            request("\"parameters\": {\"sequence_id\": 7}", "\"sequence_id\"", "not supported"),
            request("\"parameters\": {\"sequence_id\": \"a\"}", "\"sequence_id\"", "not supported"),
            request("\"outputs\": {}", "\"outputs\"", "an array", "an object"),
            request("\"outputs\": [1]", "outputs[0]"),
            request("\"outputs\": [{}]", "outputs[0]", "\"name\" is missing"),
            request("\"outputs\": [{\"name\": 1}]", "outputs[0]", "a string", "a number"),
            request("\"outputs\": [{\"name\": \"zz\"}]", "\"zz\"", "no output of this name", "\"x\""),
            request("\"outputs\": [{\"name\": \"x\"}, {\"name\": \"x\"}]", "\"x\"", "twice"),
            request("\"outputs\": [{\"name\": \"x\", \"parameters\": 1}]", "outputs[0]", "an object", "a number"),
            request(
                "\"outputs\": [{\"name\": \"x\", \"parameters\": {\"binary_data\": 1}}]", "\"binary_data\"", "a number"),
            request(
                "\"outputs\": [{\"name\": \"x\", \"parameters\": {\"classification\": -1}}]", "\"classification\"", "-1"
            ),
            request("\"outputs\": [{\"name\": \"x\", \"parameters\": {\"classification\": \"2\"}}]", "a string"),
            request("\"outputs\": [{\"name\": \"x\", \"parameters\": {\"classification\": 1.5}}]", "1.5"),
            request(
                "\"outputs\": [{\"name\": \"x\", \"parameters\": {\"classification\": 99999999999999999999}}]",
                "99999999999999999999"),
            request(
                "\"outputs\": [{\"name\": \"x\", \"parameters\": {\"shared_memory_region\": \"r\"}}]", "shared memory"),
            input("\(x), \"parameters\": {\"shared_memory_region\": \"r\"}", wrong, "shared memory"),
            input("\(x), \"parameters\": 1, \"data\": [1, 2, 3]", wrong, "\"x\"", "\"parameters\"", "a number"),
        ]
    }

    private static var lengths: [Case] {
        let data = [UInt8](repeating: 0, count: 12)
        let two =
            "{\"inputs\": [{\"name\": \"input1\", \"shape\": [4, 4], \"datatype\": \"FP32\", "
            + "\"parameters\": {\"binary_data_size\": 64}}, {\"name\": \"input2\", \"shape\": [4, 4], \"datatype\": \"FP32\", "
            + "\"parameters\": {\"binary_data_size\": 9223372036854775800}}]}"
        return [
            binary(sized("8"), data, wrong, "\"x\"", "12 bytes", "found 8"),
            binary(sized("16"), data, wrong, "\"x\"", "16 bytes", "found 12"),
            binary(sized("0"), [], wrong, "\"x\"", "12 bytes", "found 0"),
            binary(sized("12"), [], wrong, "\"x\"", "12 bytes", "found 0"),
            binary(sized("13"), data + [0], wrong, "\"x\"", "12 bytes", "found 13"),
            binary(sized("12"), data + [0, 0], wrong, "12 bytes", "found 14"),
            binary(sized("-12"), data, wrong, "\"x\"", "-12"),
            binary(sized("\"12\""), data, wrong, "\"x\"", "a string"),
            binary(sized("12.5"), data, wrong, "\"x\"", "12.5"),
            binary(sized("99999999999999999999"), data, wrong, "\"x\"", "99999999999999999999"),
            binary(sized("9223372036854775807"), data, wrong, "\"x\"", "9223372036854775807", "found 12"),
            binary(
                two, [UInt8](repeating: 0, count: 64), model: "matrices-2-in-2-out", wrong, "\"input2\"",
                "9223372036854775800", "found 0"),
            binary(sized("12", ", \"data\": [1, 2, 3]"), data, wrong, "\"x\"", "both"),
            binary(sized("12"), data, header: "0", bad, "not valid JSON"),
            binary(sized("12"), data, header: "10", bad, "not valid JSON"),
            binary(sized("12"), data, header: "1000000", bad, "Inference-Header-Content-Length", "1000000"),
            binary(sized("12"), data, header: "-1", bad, "Inference-Header-Content-Length", "-1"),
            binary(sized("12"), data, header: "+5", bad, "Inference-Header-Content-Length", "+5"),
            binary(sized("12"), data, header: "x", bad, "Inference-Header-Content-Length", "x"),
            binary(sized("12"), data, header: "99999999999999999999", bad, "99999999999999999999"),
            Case(
                "/v2/models/f32/infer", Data(sized("12").utf8) + data,
                bad, ["94, 5"],
                arguments: ["-H", "Inference-Header-Content-Length: 94", "-H", "inference-header-content-length: 5"]),
            picture("[1]", [], wrong, "\"image\"", "1 picture", "found 0"),
            picture("[1]", [1, 0, 0], wrong, "\"image\"", "four bytes", "3"),
            picture("[1]", [100, 0, 0, 0, 1, 2], wrong, "\"image\"", "100 bytes", "found 2"),
            picture("[1]", [255, 255, 255, 255, 1, 2], wrong, "\"image\"", "4294967295 bytes", "found 2"),
            picture("[1]", [0, 0, 0, 0, 0, 0, 0, 0], wrong, "\"image\"", "1 picture", "found more"),
            picture("[2]", [0, 0, 0, 0], wrong, "\"image\"", "2 pictures", "found 1"),
            picture("[2]", [0, 0, 0, 0, 0, 0, 0, 0], wrong, "\"image\"", "batch is fixed", "found 2"),
            picture("[0]", [], wrong, "\"image\"", "at least one picture"),
            picture("[9223372036854775807, 9]", [0, 0, 0, 0], wrong, "\"image\"", "fewer elements"),
            picture("[1]", [0, 0, 0, 0], "invalid_image", "\"image\"", "0 bytes"),
            picture("[1]", [4, 0, 0, 0, 1, 2, 3, 4], "unsupported_media_type", "\"image\"", "JPEG"),
        ]
    }

    private static var predictions: [Case] {
        [
            predict("number", "", wrong, "JSON", "\"input\""), predict("number", "2", wrong, "a number"),
            predict("number", "null", wrong, "null"), predict("number", "[NaN]", bad, "\"input\"", "NaN"),
            predict("number", "[\"2\"]", wrong, "\"input\"", "[0]", "a string"),
            predict("number", "[2]]", bad, "nothing more"),
            predict("number", "[1, 2]", wrong, "\"input\"", "1 number", "found 2"),
            predict("number", "{}", wrong, "neither"),
            predict("number", "{\"inputs\": [2], \"items\": [[2]]}", wrong, "both"),
            predict("number", "{\"inputs\": [2], \"inputs\": [3]}", bad, "\"inputs\" twice"),
            predict("number", "{\"inputs\": {\"input\": 1, \"input\": 2}}", bad, "\"input\" twice"),
            predict("number", "{\"inputs\": [2], \"foo\": 1}", wrong, "\"foo\""),
            predict("number", "{\"items\": {}}", wrong, "\"items\"", "an object"),
            predict(
                "number", "{\"items\": [\(String(repeating: "[1],", count: 99_999))[1]]}", wrong, "\"items\"", "64"),
            predict("number", String(repeating: "[", count: 100_000), wrong, "\"input\"", "16 levels"),
            predict("picture-quantized-labels", "[1]", wrong, "\"image\"", "b64", "a number"),
            predict("picture-quantized-labels", "[{\"b64\": 5}]", wrong, "\"image\"", "\"b64\"", "a number"),
            predict("picture-quantized-labels", "[{\"b64\": \"a\"}]", wrong, "\"image\"", "base64"),
            predict("picture-quantized-labels", "[{\"b64\": \"AAAA\", \"x\": 1}]", wrong, "\"image\"", "\"x\""),
            predict("picture-quantized-labels", "[{\"b64\": \"AA\", \"b64\": \"BB\"}]", bad, "\"b64\" twice"),
            predict("picture-quantized-labels", "[{\"b64\": \"\"}]", "invalid_image", "\"image\"", "0 bytes"),
            predict("picture-quantized-labels", "[{\"b64\": \"AAAA\"}]", "unsupported_media_type", "\"image\"", "JPEG"),
            predict("matrices-2-in-2-out", "[[1]]", wrong, "\"input1\"", "16 numbers", "found 1"),
            predict("matrices-2-in-2-out", "{\"inputs\": 5}", wrong, "\"input1\", \"input2\"", "a number"),
            predict("nothing", "[1]", "model_not_found", "\"nothing\""),
            predict("number/versions/2", "[1]", "version_not_found", "\"2\"", "\"1\""),
            Case(
                "/v1/models/picture-quantized-labels/classify", Data("x".utf8), "unsupported_media_type", ["gzip"],
                arguments: ["-H", "Content-Encoding: gzip"]),
            Case(
                "/v1/models/number/predict", Data("[2]".utf8), "unsupported_media_type", ["gzip"],
                arguments: ["-H", "Content-Encoding: gzip"]),
            Case(
                "/v2/models/f32/infer", Data("{}".utf8), "unsupported_media_type", ["br"],
                arguments: ["-H", "Content-Encoding: br"]),
            Case(
                "/v2/models/f32/infer", Data("{}".utf8), bad, ["Content-Encoding"],
                arguments: ["-H", "Content-Encoding: gzip"]),
            Case("/v1/models/number/predict?top=1", Data("[2]".utf8), bad, ["\"top\"", "labelled"]),
            Case("/v1/models/picture-quantized-labels/predict?top=4", Data("x".utf8), bad, ["\"top\"", "3", "4"]),
            Case("/v2/models/f32/versions/9/infer", Data("{}".utf8), "version_not_found", ["\"9\"", "\"1\""]),
            Case("/v2/models/f32/versions/-1/infer", Data("{}".utf8), "version_not_found", ["\"-1\""]),
            Case("/v2/models/%E2%82%AC/infer", Data("{}".utf8), "model_not_found", ["\"€\""]),
            Case("/v2/models/f32%2Finfer", Data("{}".utf8), bad, ["encoded slash"]),
            Case("/v2/models/%00/infer", Data("{}".utf8), bad, ["control character"]),
            Case("/v2/models/%ff/infer", Data("{}".utf8), bad, ["UTF-8"]),
            Case("/v2/models//infer", Data("{}".utf8), "not_found", ["/v2/models//infer"]),
            Case("/v2/repository/models/nothing/load", Data(), "model_not_found", ["\"nothing\""]),
            Case("/v2/repository/index", Data("{\"ready\": 1}".utf8), wrong, ["\"ready\"", "a number"]),
            Case("/v2/repository/models/f32/load", Data("{\"parameters\": 1}".utf8), wrong, ["\"parameters\""]),
            Case(
                "/v2/repository/models/f32/load", Data("{\"parameters\": {\"config\": \"{}\"}}".utf8), bad,
                ["\"config\""]),
        ]
    }

    private static let statuses = [
        "model_not_found": 404, "version_not_found": 404, "not_found": 404, "unsupported_media_type": 415,
    ]

    // MARK: The test

    /// A body of 16 MB with four million empty pictures is refused as soon as there are too many, before all are read.
    @Test("a 16 MB body of millions of empty pictures gets 400 and takes less than 100 MB of memory")
    func manyEmptyPicturesCostLittle() throws {
        let daemon = try Daemon()
        let url = daemon.url + "/v2/models/digits/infer"
        let before = daemon.residentKiB
        let length = 16_000_000
        let header =
            "{\"inputs\": [{\"name\": \"image\", \"shape\": [1], \"datatype\": \"BYTES\", "
            + "\"parameters\": {\"binary_data_size\": \(length)}}]}"
        let json =
            "{\"inputs\": [{\"name\": \"image\", \"shape\": [1], \"datatype\": \"BYTES\", \"data\": ["
            + String(repeating: "\"\",", count: length / 3) + "\"\"]}]}"
        for (body, arguments) in [
            (Data(header.utf8) + Data(count: length), ["-H", "Inference-Header-Content-Length: \(header.utf8.count)"]),
            (Data(json.utf8), []),
        ] {
            let answer = try Curl.run(url, ["--data-binary", "@-"] + arguments, input: body)
            #expect(answer.status == 400 && answer.error.contains("expected 1 picture"), "\(answer.text)")
        }
        #expect(daemon.maximumResidentKiB - before < 100_000)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("each kind of wrong JSON, tensor, parameter or length gets a 4xx that names the mistake")
    func mistake_inARequest_isNamed() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-wrong-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try IdentityModel.write("f32", named: "f32", into: folder)
        let daemon = try Daemon(
            ["--models", folder.path, "--models", TensorIOBundlesTests.folder.path, "--access-log=false"])
        for one in Self.texts + Self.tensors + Self.parameters + Self.lengths + Self.predictions {
            let answer = try Curl.run(
                daemon.url + one.path, ["-H", "Expect:", "--path-as-is", "--data-binary", "@-"] + one.arguments,
                input: one.body)
            let shown =
                "\(one.path) \(String(decoding: one.body.prefix(200), as: UTF8.self)): \(answer.text.prefix(500))"
            #expect(answer.status == Self.statuses[one.code] ?? 400 && answer.code == one.code, "\(shown)")
            #expect(answer.headers["content-type"] == "application/json", "\(shown)")
            #expect(answer.json["request_id"] as? String == answer.headers["x-request-id"], "\(shown)")
            #expect(answer.error.count < 1_000, "\(shown)")
            for word in one.words { #expect(answer.error.contains(word), "\(word): \(shown)") }
        }
        for (method, path, allow) in [
            ("GET", "/v2/models/f32/infer", "POST"), ("HEAD", "/v2/models/f32/infer", "POST"),
            ("PUT", "/v1/models/number/predict", "POST"), ("DELETE", "/v2/models/f32", "GET, HEAD"),
            ("POST", "/v2", "GET, HEAD"), ("POST", "/v2/health/live", "GET, HEAD"),
            ("GET", "/v2/repository/index", "POST"),
        ] {
            let answer = try Curl.run(daemon.url + path, method == "HEAD" ? ["--head"] : ["-X", method])
            #expect(answer.status == 405 && answer.headers["allow"] == allow, "\(method) \(path): \(answer.text)")
            #expect(method == "HEAD" ? answer.body.isEmpty : answer.code == "method_not_allowed")
        }
        let server = try Curl.run(daemon.url, ["-X", "OPTIONS", "--request-target", "*"])
        #expect(server.status == 204 && server.headers["allow"] == "DELETE, GET, HEAD, POST, PUT, OPTIONS")
        // Unusual requests are accepted: null for optional members, names with escapes, a byte order mark, numbers of
        // any form.
        for body in [
            "{\"id\": null, \"parameters\": null, \"outputs\": null, \"inputs\": [{\(Self.x), \"parameters\": null, \"data\": [1, 2, 3]}]}",
            "\u{FEFF}{\"inputs\": [{\"\\u006eame\": \"\\u0078\", \"shape\": [1.0, 3e0], \"datatype\": \"FP32\", \"data\": [[1e0, 20e-1, 3.0]]}]}",
            "{\"parameters\": {\"priority\": 3, \"timeout\": 0, \"sequence_id\": 0}, \"more\": {}, \"outputs\": [], "
                + "\"inputs\": [{\"data\": [1, 2, 3], \(Self.x)}]}",
        ] {
            let answer = try Curl.run(
                daemon.url + "/v2/models/f32/infer", ["--data-binary", "@-"], input: Data(body.utf8))
            let output = (answer.json["outputs"] as? [[String: Any]])?.first
            #expect(answer.status == 200 && output?["data"] as? [Double] == [1, 2, 3], "\(answer.text)")
        }
        let encoded = try Curl.run(daemon.url + "/v2/models/%66%33%32/versions/%31")
        #expect(encoded.status == 200 && encoded.json["name"] as? String == "f32", "\(encoded.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }
}
