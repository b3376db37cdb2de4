import Foundation
import HTTPServer
import InferenceService
import Settings
import SystemSupport
import TestSupport
import Testing

/// `:predict` and related routes. The bodies come from TensorFlow Serving's documents and from the tests of its JSON
/// reader, and so do the expected shapes.
@Suite(.timeLimit(.minutes(3))) struct TFServingTests {
    private typealias World = OpenInferenceHandlersTests.World
    private typealias Reply = OpenInferenceHandlersTests.Reply

    /// `bare` takes all rows together, `rows` one row each; `pair` has two inputs and two outputs; `scalars` takes one
    /// number.
    private static func world(_ types: [String] = []) async throws -> World {
        try await World(
            types: types,
            models: { folder in
                try single("scalars", shape: [1], in: folder)
                try single("columns", shape: [1, 1], in: folder)
                try single("matrix", shape: [1, 2, 2], in: folder)
            })
    }

    /// Writes a bundle that returns its input array.
    private static func single(_ name: String, shape: [Int], in folder: URL) throws {
        let bundle = folder.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
        try IdentityModel.write("f32", named: "net", shape: shape, into: bundle)
        try """
        { "name": "\(name)", "id": "\(name)", "version": "1", "model": { "file": "net.xml", "backend": "openvino" },
          "inputs": [ { "name": "x", "type": "array", "shape": \(shape) } ],
          "outputs": [ { "name": "x", "type": "array", "shape": \(shape) } ] }
        """.write(to: bundle.appendingPathComponent("model.json"), atomically: true, encoding: .utf8)
    }

    private static func predict(_ world: World, _ model: String, _ body: String) async throws -> Reply {
        try await world.answer("POST /v1/models/\(model):predict", Array(body.utf8))
    }

    // MARK: Values

    @Test("tensors sent to :predict come back in TensorFlow Serving's JSON format")
    func valuesGoThereAndBack() async throws {
        let world = try await Self.world()
        let cases: [(String, String, String)] = [
            ("scalars", #"{"instances": [1.0, 2.0, 5.0]}"#, #"{"predictions":[1.0,2.0,5.0]}"#),
            ("scalars", #"{"instances": [[1.0], [2]]}"#, #"{"predictions":[1.0,2.0]}"#),
            ("columns", #"{"instances": [1.0, 2.0]}"#, #"{"predictions":[[1.0],[2.0]]}"#),
            ("columns", #"{"inputs": [[1.0], [2.0]]}"#, #"{"outputs":[[1.0],[2.0]]}"#),
            ("rows", #"{"instances": [[1, 2, 3], [4, 5, 6]]}"#, #"{"predictions":[[1.0,2.0,3.0],[4.0,5.0,6.0]]}"#),
            ("rows", #"{"instances": [{"x": [1, 2, 3]}]}"#, #"{"predictions":[[1.0,2.0,3.0]]}"#),
            ("rows", #"{"inputs": [[1, 2, 3], [4, 5, 6]]}"#, #"{"outputs":[[1.0,2.0,3.0],[4.0,5.0,6.0]]}"#),
            ("rows", #"{"inputs": {"x": [[1, 2, 3]]}}"#, #"{"outputs":[[1.0,2.0,3.0]]}"#),
            ("bare", #"{"instances": [[1, 2, 3], [4, 5, 6]]}"#, #"{"predictions":[[1.0,2.0,3.0],[4.0,5.0,6.0]]}"#),
            (
                "bare", #"{"instances": [{"x": [1, 2, 3]}, {"x": [4, 5, 6]}]}"#,
                #"{"predictions":[[1.0,2.0,3.0],[4.0,5.0,6.0]]}"#
            ),
            ("bare", #"{"inputs": {"x": [[1, 2, 3], [4, 5, 6]]}}"#, #"{"outputs":[[1.0,2.0,3.0],[4.0,5.0,6.0]]}"#),
            ("matrix", #"{"instances": [[[1, 2], [3, 4]]]}"#, #"{"predictions":[[[1.0,2.0],[3.0,4.0]]]}"#),
            (
                "matrix", #"{"inputs": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]}"#,
                #"{"outputs":[[[1.0,2.0],[3.0,4.0]],[[5.0,6.0],[7.0,8.0]]]}"#
            ),
            // Values that are not JSON, in the form of TensorFlow Serving and Python; numbers in the form of TensorFlow
            // Serving.
            ("rows", #"{"instances": [[NaN, Infinity, -Infinity]]}"#, #"{"predictions":[[NaN,Infinity,-Infinity]]}"#),
            ("scalars", #"{"instances": [NaN, 1]}"#, #"{"predictions":[NaN,1.0]}"#),
            ("scalars", #"{"inputs": NaN}"#, #"{"outputs":[NaN]}"#),
            ("rows", #"{"instances": [[1e20, 0.1, -0.0]]}"#, #"{"predictions":[[1e+20,0.1,-0.0]]}"#),
            (
                "rows", #"{"signature_name": "serving_default", "instances": [[1, 2, 3]], "id": 7}"#,
                #"{"predictions":[[1.0,2.0,3.0]]}"#
            ),
            ("rows", #"{"signature_name": "", "instances": [[1, 2, 3]]}"#, #"{"predictions":[[1.0,2.0,3.0]]}"#),
        ]
        for (model, body, expected) in cases {
            let reply = try await Self.predict(world, model, body)
            #expect(reply.status == 200 && reply.text == expected, "\(body): \(reply.text)")
            #expect(
                reply["Content-Type"] == "application/json" && reply["Server-Timing"]?.contains("infer;dur=") == true)
        }
    }

    @Test("every element type is returned by :predict with exact values")
    func everyType_isWrittenAsItIs() async throws {
        let types = [
            ("boolean", "true,false,true"), ("u8", "0,7,255"), ("i8", "-128,0,127"), ("i16", "-32768,7,32767"),
            ("i32", "-5,0,2147483647"),
            ("i64", "-2147483648,0,2147483647"), ("u64", "0,1,2147483647"),
            ("f16", "0.5,-2.0,65504.0"),
            ("f64", "0.5,1e+20,-3.0"), ("bf16", "0.5,-2.0,1.0"),
        ]
        let world = try await Self.world(types.map(\.0))
        for (type, row) in types {
            let reply = try await Self.predict(world, type, "{\"instances\": [[\(row)]]}")
            #expect(reply.text == "{\"predictions\":[[\(row)]]}", "\(type): \(reply.text)")
        }
    }

    @Test("each mistake in a :predict body is refused with 400 and described")
    func whatIsWrong_isNamed() async throws {
        let world = try await Self.world()
        let cases: [(String, String, String)] = [
            ("rows", "", "line 1, column 1"), ("rows", "[]", "an object"), ("rows", "{}", "found neither"),
            ("rows", #"{"instances": [[1,2,3]], "inputs": [[1,2,3]]}"#, "found both"),
            ("rows", #"{"instances": []}"#, "\"instances\" is empty"),
            ("rows", #"{"instances": 7}"#, "expected an array"),
            ("rows", #"{"signature_name": 5, "instances": [[1,2,3]]}"#, "\"signature_name\": expected a string"),
            ("rows", #"{"signature_name": "other", "instances": [[1,2,3]]}"#, "only signature"),
            (
                "rows", #"{"instances": [[1,2,3],[4,5]]}"#,
                "instance 2: input \"x\": expected an instance of numbers nested as [3], found [2]"
            ),
            ("rows", #"{"instances": [[[1,2,3]]]}"#, "nested as [3], found [1,3]"),
            ("rows", #"{"instances": [[1,2,3],[4,5,[6]]]}"#, "not regular"),
            (
                "scalars", #"{"instances": [[[1.0]], 2.0]}"#,
                "instance 2: input \"x\": expected a value in 2 arrays, as in instance 1, found a value in no arrays"
            ),
            ("scalars", #"{"instances": [1, 2, [3]]}"#, "instance 3: input \"x\": expected a value in no arrays"),
            ("columns", #"{"instances": [[1], 2]}"#, "instance 2: input \"x\": expected a value in 1 array,"),
            (
                "columns", #"{"instances": [{"x": [[1]]}, {"x": [1]}]}"#,
                "instance 2: input \"x\": expected a value in 2"
            ),
            ("columns", #"{"inputs": [[1], 2]}"#, "at [1]"),
            ("columns", #"{"inputs": {"x": [[1], [[2]]]}}"#, "at [1][0]"),
            ("bare", #"{"instances": [[1,2,3], 4]}"#, "at [1]"),
            ("bare", #"{"instances": [{"x": [1,2,3]}, {"x": [[1,2,3]]}]}"#, "instance 2: input \"x\""),
            ("rows", #"{"instances": [[1,2,"3"]]}"#, "instance 1: input \"x\""),
            ("rows", #"{"instances": ["abc"]}"#, "expected numbers, found a string"),
            ("rows", #"{"instances": [{"b64": "AAAA"}]}"#, "expected numbers, found an object"),
            ("rows", #"{"instances": [{"y": [1,2,3]}]}"#, "has no input of this name"),
            ("rows", #"{"instances": [{}]}"#, "input \"x\": is missing"),
            ("rows", #"{"instances": [[1,2,3],[1,2,3],[1,2,3],[1,2,3],[1,2,3]]}"#, "max_batch"),
            ("rows", #"{"inputs": [[1,2,3],[1,2,3],[1,2,3],[1,2,3],[1,2,3]]}"#, "4"),
            ("rows", #"{"inputs": [1,2,3]}"#, "nested as [-1,3]"),
            ("rows", #"{"inputs": {"x": [[1,2]]}}"#, "nested as [-1,3]"),
            ("rows", #"{"inputs": {}}"#, "is missing"), ("bare", #"{"instances": [[1,2]]}"#, "expected shape [-1,3]"),
            ("bare", #"{"instances": [{"x": [1,2,3]}, {"x": [1,2]}]}"#, "same shape in every instance"),
            ("rows", #"{"instances": [[1e39,0,0]]}"#, "32-bit float"), ("rows", #"{"instances": [[1,2,nan]]}"#, "JSON"),
            ("rows", #"{"instances": [[1,2,3]]} x"#, "nothing more"),
        ]
        for (model, body, words) in cases {
            let reply = try await Self.predict(world, model, body)
            #expect(reply.status == 400 && reply.error.contains(words), "\(body): \(reply.text)")
            #expect(reply.json["code"] != nil && reply.json["request_id"] as? String == "r")
        }
    }

    // MARK: Pictures

    @Test("pictures for :predict are base64 in any nesting, and a broken picture is named")
    func pictures_areBase64InAnyNesting() async throws {
        let world = try await Self.world()
        let picture = try Data(contentsOf: SharedData.packageRoot.appendingPathComponent("examples/seven.png"))
        let b64 = "{\"b64\": \"\(picture.base64EncodedString())\"}"
        let name = try #require(
            ((try await world.answer("GET /v2/models/digits").json["inputs"] as? [[String: Any]])?.first?["name"])
                as? String)
        func classes(_ body: String) async throws -> [[Double]] {
            let reply = try await Self.predict(world, "digits", body)
            #expect(reply.status == 200, "\(reply.text)")
            return reply.json["predictions"] as? [[Double]] ?? reply.json["outputs"] as? [[Double]] ?? []
        }
        let expected = try await classes("{\"instances\": [\(b64)]}")
        #expect(expected.count == 1 && expected[0].count == 10)
        #expect(expected[0].firstIndex(of: try #require(expected[0].max())) == 7)
        #expect(try await classes("{\"instances\": [[\(b64)], {\"\(name)\": [\(b64)]}]}") == expected + expected)
        #expect(try await classes("{\"inputs\": [\(b64), \(b64)]}") == expected + expected)
        #expect(try await classes("{\"inputs\": {\"\(name)\": \(b64)}}") == expected)
        #expect(try await classes("{\"instances\": [\"\(picture.base64EncodedString())\"]}") == expected)
        let broken = try await Self.predict(
            world, "digits", "{\"instances\": [\(b64), {\"b64\": \"bm90IGEgcGljdHVyZQ==\"}]}")
        #expect(broken.status == 415 && broken.error.hasPrefix("instance 2: "), "\(broken.text)")
        for (body, words) in [
            ("{\"instances\": [[[\(b64)]], \(b64)]}", "instance 2: "), ("{\"inputs\": [[\(b64)], \(b64)]}", "at [1]"),
            ("{\"inputs\": [\(b64), [\(b64)]]}", "at [1]"),
        ] {
            let ragged = try await Self.predict(world, "digits", body)
            #expect(ragged.status == 400 && ragged.error.contains("not regular"), "\(ragged.text)")
            #expect(ragged.error.contains(words), "\(ragged.text)")
        }
        let two = try await Self.predict(world, "digits", "{\"instances\": [[\(b64), \(b64)]]}")
        #expect(two.status == 400 && two.error.contains("one value"), "\(two.text)")
    }

    // MARK: Routes

    @Test(":predict serves an existing version; unknown versions, labels and verbs are 404")
    func versionsAndLabels() async throws {
        let world = try await Self.world()
        let body = Array(#"{"instances": [[1, 2, 3]]}"#.utf8)
        #expect(try await world.answer("POST /v1/models/rows/versions/1:predict", body).status == 200)
        for path in ["versions/2:predict", "labels/canary:predict"] {
            let reply = try await world.answer("POST /v1/models/rows/\(path)", body)
            #expect(reply.status == 404 && reply.json["code"] as? String == "version_not_found", "\(reply.text)")
        }
        let unknown = try await world.answer("POST /v1/models/nothing/labels/stable:predict", body)
        #expect(unknown.status == 404 && unknown.json["code"] as? String == "model_not_found")
        #expect(
            try await world.answer("GET /v1/models/rows/labels/canary").json["code"] as? String == "version_not_found")
        #expect(try await world.answer("GET /v1/models/rows/labels/x/metadata").status == 404)
        #expect(try await world.answer("GET /v1/models/rows:predict").status == 405)
        for verb in ["classify", "regress"] {
            for path in ["rows:\(verb)", "rows/versions/1:\(verb)"] {
                let reply = try await world.answer("POST /v1/models/\(path)", body)
                #expect(reply.status == 404 && reply.error.contains(":predict"), "\(reply.text)")
            }
        }
    }

    /// A verb may also be the end of a name.
    @Test("a model whose name ends with a verb is described, with the dialect on and off", arguments: [true, false])
    func aModelWhoseNameEndsWithAVerb_isDescribed(_ isOn: Bool) async throws {
        let world = try await World(
            { if !isOn { $0.dialects = [] } },
            models: { folder in
                for name in ["odd", "odd:predict", "odd:regress"] { try Self.single(name, shape: [1], in: folder) }
            })
        for path in ["odd", "odd:predict", "odd:regress", "odd:predict/versions/1"] {
            let reply = try await world.answer("GET /v1/models/\(path)")
            #expect(reply.status == 200 && path.hasPrefix(reply.json["name"] as? String ?? "nothing"), "\(reply.text)")
        }
        #expect(try await world.answer("GET /v1/models/odd:classify").status == (isOn ? 405 : 404))
        #expect(try await world.answer("GET /v1/models/other:predict").status == (isOn ? 405 : 404))
        let body = Array(#"{"instances": [1]}"#.utf8)
        #expect(try await world.answer("POST /v1/models/odd:predict", body).status == (isOn ? 200 : 404))
        #expect(try await world.answer("POST /v1/models/odd:predict:predict", body).status == (isOn ? 200 : 404))
    }

    @Test("a model's description has its TensorFlow Serving state only if the dialect is on")
    func theStateOfAModel_isInItsDescription() async throws {
        let world = try await Self.world()
        let json = try await world.answer("GET /v1/models/rows").json
        #expect(
            json["name"] as? String == "rows" && json["ready"] as? Bool == true && json["state"] as? String == "ready")
        let status = try #require((json["model_version_status"] as? [[String: Any]])?.first)
        #expect(status["version"] as? String == "1" && status["state"] as? String == "AVAILABLE")
        #expect(status["status"] as? [String: String] == ["error_code": "OK", "error_message": ""])
        let off = try await World { $0.dialects = [] }
        #expect(try await off.answer("GET /v1/models/rows").json["ready"] == nil)
    }

    @Test("model metadata has the TensorFlow Serving signature with types and shapes")
    func theSignature_isDescribed() async throws {
        let world = try await Self.world()
        for path in ["rows/metadata", "rows/versions/1/metadata"] {
            let json = try await world.answer("GET /v1/models/\(path)").json
            #expect((json["model_spec"] as? [String: String])?["version"] == "1")
            let map = (json["metadata"] as? [String: [String: [String: [String: Any]]]])?["signature_def"]?[
                "signature_def"]
            let signature = try #require(map?["serving_default"])
            let input = try #require((signature["inputs"] as? [String: [String: Any]])?["x"])
            #expect(input["dtype"] as? String == "DT_FLOAT")
            let dims = (input["tensor_shape"] as? [String: Any])?["dim"] as? [[String: String]]
            #expect(dims?.map { $0["size"] } == ["-1", "3"])
            #expect((signature["outputs"] as? [String: Any])?.keys.sorted() == ["x"])
        }
    }

    @Test(
        "a route of a dialect that is off is 404 and names the dialect and the setting",
        arguments: [
            ("POST /v1/models/rows:predict", "tfserving"), ("GET /v1/models/rows/metadata", "tfserving"),
            ("GET /ping", "sagemaker"), ("POST /invocations", "sagemaker"), ("POST /v1/vision/detection", "deepstack"),
            ("POST /v1/vision/face", "deepstack"), ("POST /v1/vision/scene", "deepstack"),
            ("POST /v1/vision/custom/m", "deepstack"), ("GET /v1/vision/custom/list", "deepstack"),
            ("GET /v1/status/ping", "deepstack"), ("POST /v1/embeddings", "openai"),
        ])
    func whatIsOff_namesTheSetting(_ line: String, _ dialect: String) async throws {
        let world = try await World { $0.dialects = [] }
        let reply = try await world.answer(line)
        #expect(reply.status == 404 && reply.json["code"] as? String == "not_found")
        #expect(reply.error.contains("(dialects)") && reply.error.contains("\"\(dialect)\""), "\(reply.error)")
    }
}
