import Foundation
import HTTPServer
import HTTPWire
import Inference
import InferenceService
internal import Repository
internal import ServiceCore
internal import ServicePlanning
import Settings
import SystemSupport
import TestSupport
import Testing

/// `/v2`, and the page, answered by real models without a socket.
@Suite(.timeLimit(.minutes(2))) struct OpenInferenceHandlersTests {
    /// A service with three ready models: `bare`, a bare model file that returns its input, rows of three numbers;
    /// `rows`, the same model as a bundle, one row at a time; `digits`, which takes pictures.
    final class World: Sendable {
        let folder: URL
        let repository: ModelRepository
        let service: Service
        let metrics = ServiceMetrics()

        init(
            _ change: (inout Settings) -> Void = { _ in }, types: [String] = [], models: (URL) throws -> Void = { _ in }
        ) async throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-v2-\(UUID().uuidString)")
            let rows = folder.appendingPathComponent("rows")
            try FileManager.default.createDirectory(at: rows, withIntermediateDirectories: true)
            try IdentityModel.write("f32", named: "bare", into: folder)
            try models(folder)
            for type in types { try IdentityModel.write(type, named: type, into: folder) }
            try IdentityModel.write("f32", named: "net", into: rows)
            try Data(Self.manifest.utf8).write(to: rows.appendingPathComponent("model.json"))
            try FileManager.default.copyItem(
                at: SharedData.packageRoot.appendingPathComponent("models/digits"),
                to: folder.appendingPathComponent("digits"))
            var settings = Settings()
            settings.models = [folder.path]
            settings.cacheDirectory = ""
            settings.loadTrial = false
            settings.maxBatch = 4
            change(&settings)
            let plan = ServicePlan(settings: settings, environment: [:])
            repository = ModelRepository(folders: [folder.path], configuration: plan.modelConfiguration)
            try repository.discover()
            await repository.loadEager()
            service = Service(
                repository: repository, settings: LiveSettings(settings: settings, access: .open),
                metrics: metrics, log: try Log(level: .error, format: .text, descriptor: 2))
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        private static let manifest = """
            { "name": "rows", "id": "rows", "version": "1", "model": { "file": "net.xml", "backend": "openvino" },
              "inputs": [ { "name": "x", "type": "array", "shape": [1, 3] } ],
              "outputs": [ { "name": "x", "type": "array", "shape": [1, 3] } ] }
            """

        /// - Parameters:
        ///   - age: the time since the request's first byte.
        ///   - other: another service of the same models.
        func answer(
            _ line: String, _ body: [UInt8] = [], fields: String = "", age: Duration = .zero, by other: Service? = nil
        ) async throws -> Reply {
            let head = try Requests.head("\(line) HTTP/1.1\nHost: x\(fields)")
            switch (other ?? service).admit(head, requestID: "r", from: RequestSource(remote: "127.0.0.1:4242")) {
            case .answer(let response): return Reply(response)
            case .accept(_, let handler):
                let request = HTTPRequest(
                    head: head, body: HTTPBody(body), requestID: "r", remote: "127.0.0.1:4242",
                    headReceived: .now - age,
                    bodyReceived: .now)
                return Reply(await handler(request))
            }
        }

        /// Sends an `infer` request with binary data after its JSON.
        func infer(_ model: String, _ json: String, _ data: [UInt8]) async throws -> Reply {
            try await answer(
                "POST /v2/models/\(model)/infer", Array(json.utf8) + data,
                fields: "\nInference-Header-Content-Length: \(json.utf8.count)")
        }

        func infer(_ model: String, _ json: String) async throws -> Reply {
            try await answer("POST /v2/models/\(model)/infer", Array(json.utf8))
        }
    }

    // Unchecked: the parsed JSON is never changed.
    struct Reply: @unchecked Sendable {
        let response: HTTPResponse
        let json: [String: Any]
        /// The bytes after the JSON.
        let data: [UInt8]

        init(_ response: HTTPResponse) {
            self.response = response
            let field = response.fields.first { $0.name == "Inference-Header-Content-Length" }
            let length = field.flatMap { Int($0.value) }
            let end = length ?? response.body.count
            json = (try? JSONSerialization.jsonObject(with: Data(response.body[..<end]))) as? [String: Any] ?? [:]
            data = Array(response.body[end...])
        }

        var status: Int { response.status.code }
        var error: String { json["error"] as? String ?? "" }
        var outputs: [[String: Any]] { json["outputs"] as? [[String: Any]] ?? [] }
        var floats: [Float] { data.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) } }
        var text: String { String(decoding: response.body, as: UTF8.self) }
        subscript(_ name: String) -> String? { response.fields.first { $0.name == name }?.value }
    }

    private static func input(_ rows: Int, _ data: String, _ more: String = "") -> String {
        "{\"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": [\(rows), 3], \(data)}]\(more)}"
    }

    private static func bytes<T>(_ values: [T]) -> [UInt8] { values.withUnsafeBytes { Array($0) } }

    // MARK: Metadata of the server and its models

    @Test("GET /v2 lists the extensions, with model_repository only if models may be loaded and unloaded")
    func theServerNamesItsExtensions() async throws {
        let all = ["binary_tensor_data", "classification", "statistics"]
        for (control, names) in [(Settings.RepositoryControl.local, all + ["model_repository"]), (.none, all)] {
            let reply = try await World { $0.repositoryControl = control }.answer("GET /v2")
            #expect(reply.json["name"] as? String == "ocelli" && reply.json["extensions"] as? [String] == names)
        }
    }

    @Test("/v2 metadata and configuration give platform, shapes, types and the largest batch")
    func modelsAreDescribed() async throws {
        let world = try await World()
        for (name, platform, shape, dims, maximum) in [
            ("bare", "openvino_ir", [-1, 3], [-1, 3], 0), ("rows", "openvino_ir", [-1, 3], [3], 4),
            ("digits", "onnx_onnxv1", [-1, 1, 64, 64], [1, 64, 64], 4),
        ] {
            let metadata = try await world.answer("GET /v2/models/\(name)").json
            #expect(metadata["name"] as? String == name && metadata["versions"] as? [String] == ["1"])
            #expect(metadata["platform"] as? String == platform)
            let input = (metadata["inputs"] as? [[String: Any]])?.first
            #expect(input?["shape"] as? [Int] == shape && input?["datatype"] as? String == "FP32", "\(metadata)")
            let configuration = try await world.answer("GET /v2/models/\(name)/config").json
            #expect(configuration["max_batch_size"] as? Int == maximum, "\(configuration)")
            let other = (configuration["input"] as? [[String: Any]])?.first
            #expect(other?["dims"] as? [Int] == dims && other?["data_type"] as? String == "TYPE_FP32")
        }
        #expect(try await world.answer("GET /v2/models/bare/versions/2").status == 404)
    }

    /// The types of the engine and of the protocol, one by one.
    @Test("every element type of the engine has its /v2 datatype name")
    func everyTypeHasItsName() async throws {
        let types = [
            "boolean": "BOOL", "u8": "UINT8", "u16": "UINT16", "u32": "UINT32", "u64": "UINT64", "i8": "INT8",
            "i16": "INT16", "i32": "INT32", "i64": "INT64", "f16": "FP16", "bf16": "BF16", "f64": "FP64",
        ]
        let world = try await World(types: types.keys.sorted())
        for (engine, datatype) in types {
            let metadata = try await world.answer("GET /v2/models/\(engine)").json
            let input = (metadata["inputs"] as? [[String: Any]])?.first
            #expect(input?["datatype"] as? String == datatype, "\(engine): \(metadata)")
        }
        // The engine refuses a tensor of another type, so a value that comes back shows the type.
        let json =
            "{\"inputs\": [{\"name\": \"x\", \"datatype\": \"INT16\", \"shape\": [1, 3], "
            + "\"data\": [-32768, 7, 32767]}]}"
        let reply = try await world.infer("i16", json)
        #expect(reply.outputs.first?["data"] as? [Int] == [-32768, 7, 32767], "\(reply.text)")
    }

    // MARK: Predictions

    @Test("binary and JSON tensors are returned as sent, in the form requested for each output")
    func tensorsGoThereAndBack() async throws {
        let world = try await World()
        let more = ", \"id\": \"seven\", \"parameters\": {\"timeout\": 0, \"binary_data_output\": true}"
        let reply = try await world.infer(
            "bare", Self.input(2, "\"parameters\": {\"binary_data_size\": 24}", more),
            Self.bytes([1, 2, 3, 4, 5, 6] as [Float]))
        #expect(reply.status == 200 && reply.json["id"] as? String == "seven", "\(reply.text)")
        #expect(reply.outputs.first?["shape"] as? [Int] == [2, 3] && reply.floats == [1, 2, 3, 4, 5, 6])
        // An output's own choice wins over the request's.
        let mixed =
            ", \"parameters\": {\"binary_data_output\": true}, "
            + "\"outputs\": [{\"name\": \"x\", \"parameters\": {\"binary_data\": false}}]"
        let plain = try await world.infer("bare", Self.input(1, "\"data\": [1, 2, 3]", mixed))
        #expect(plain.outputs.first?["data"] as? [Double] == [1, 2, 3] && plain["Content-Type"] == "application/json")
        let binary = ", \"outputs\": [{\"name\": \"x\", \"parameters\": {\"binary_data\": true}}]"
        let own = try await world.infer("bare", Self.input(1, "\"data\": [1, 2, 3]", binary))
        #expect(own.floats == [1, 2, 3] && own["Content-Type"] == "application/octet-stream")
        let statistics = try await world.answer("GET /v2/models/bare/stats").json["model_stats"] as? [[String: Any]]
        #expect(statistics?.first?["inference_count"] as? Int == 3 && statistics?.count == 1)
    }

    @Test(
        "a wrong amount of binary tensor data is refused with the expected byte count",
        arguments: [
            // More bytes than the inputs announce, and fewer.
            (12, [UInt8](repeating: 0, count: 13), "expected 12 bytes of binary data after the JSON"),
            (12, [UInt8](repeating: 0, count: 11), "expected 12 bytes of binary data, found 11"),
            (11, [UInt8](repeating: 0, count: 11), "expected 12 bytes of binary data (shape [1,3] of FP32), found 11"),
        ])
    func binaryDataIsCounted(_ size: Int, _ data: [UInt8], _ words: String) async throws {
        let world = try await World()
        let input = Self.input(1, "\"parameters\": {\"binary_data_size\": \(size)}")
        let reply = try await world.infer("bare", input, data)
        #expect(reply.status == 400 && reply.error.contains(words), "\(reply.text)")
    }

    @Test("an input with both JSON and binary data is refused")
    func anInputHasItsDataOnce() async throws {
        let world = try await World()
        let both = "\"data\": [1, 2, 3], \"parameters\": {\"binary_data_size\": 12}"
        let reply = try await world.infer("bare", Self.input(1, both), [UInt8](repeating: 0, count: 12))
        #expect(reply.status == 400 && reply.error.contains("both"), "\(reply.text)")
    }

    @Test("an Inference-Header-Content-Length that is malformed or beyond the body is refused")
    func theLengthOfTheJSONIsChecked() async throws {
        let world = try await World()
        let json = Self.input(1, "\"data\": [1, 2, 3]")
        for (length, status) in [
            ("\(json.utf8.count)", 200), ("\(json.utf8.count + 1)", 400), ("99999999999999999999", 400), ("-1", 400),
            ("+5", 400), ("", 400),
        ] {
            let reply = try await world.answer(
                "POST /v2/models/bare/infer", Array(json.utf8), fields: "\nInference-Header-Content-Length: \(length)")
            #expect(reply.status == status, "\(length): \(reply.text)")
        }
    }

    /// A bundle's model runs one item at a time: the batch is split and joined again.
    @Test("a batch keeps its order; an empty batch and more than max_batch rows are refused")
    func aBatchKeepsItsOrder() async throws {
        let world = try await World()
        let reply = try await world.infer(
            "rows", Self.input(4, "\"parameters\": {\"binary_data_size\": 48}"), Self.bytes((1...12).map { Float($0) }))
        #expect(reply.outputs.first?["data"] as? [Double] == (1...12).map(Double.init), "\(reply.text)")
        #expect(reply.outputs.first?["shape"] as? [Int] == [4, 3])
        let long = try await world.infer(
            "rows", Self.input(5, "\"parameters\": {\"binary_data_size\": 60}"), [UInt8](repeating: 0, count: 60))
        #expect(long.status == 400 && long.error.contains("a batch of at most 4, found 5"), "\(long.text)")
        let none = try await world.infer("rows", Self.input(0, "\"data\": []"))
        #expect(none.status == 400, "\(none.text)")
    }

    @Test("the classification parameter gives the greatest values of each row with their indices")
    func theGreatestValuesOfEachRowAreItsClasses() async throws {
        let world = try await World()
        func outputs(_ count: Int, _ isBinary: Bool) -> String {
            ", \"outputs\": [{\"name\": \"x\", \"parameters\": {\"classification\": \(count), \"binary_data\": \(isBinary)}}]"
        }
        let data = "\"data\": [3, 1, 2, 5, 5, -1]"
        let reply = try await world.infer("bare", Self.input(2, data, outputs(2, false)))
        #expect(
            reply.outputs.first?["data"] as? [String] == ["3.0:0", "2.0:2", "5.0:0", "5.0:1"]
                && reply.outputs.first?["shape"] as? [Int] == [2, 2]
                && reply.outputs.first?["datatype"] as? String == "BYTES", "\(reply.text)")
        // More classes than the output has, as bytes with their lengths.
        let binary = try await world.infer("bare", Self.input(1, "\"data\": [3, 1, 2]", outputs(9, true)))
        let expected = ["3.0:0", "2.0:2", "1.0:1"].flatMap { Self.bytes([UInt32($0.utf8.count)]) + Array($0.utf8) }
        #expect(binary.data == expected, "\(binary.text)")
        let size = (binary.outputs.first?["parameters"] as? [String: Int])?["binary_data_size"]
        #expect(size == expected.count && binary.outputs.first?["shape"] as? [Int] == [1, 3])
    }

    @Test("pictures are sent as BYTES elements; wrong counts and lengths are refused")
    func picturesAreElementsOfBytes() async throws {
        let world = try await World()
        func picture(_ name: String) throws -> [UInt8] {
            let file = SharedData.packageRoot.appendingPathComponent("examples/\(name).png")
            let bytes = [UInt8](try Data(contentsOf: file))
            return Self.bytes([UInt32(bytes.count)]) + bytes
        }
        func infer(_ count: Int, _ data: [UInt8]) async throws -> Reply {
            try await world.infer(
                "digits",
                "{\"inputs\": [{\"name\": \"image\", \"datatype\": \"BYTES\", \"shape\": [\(count)], "
                    + "\"parameters\": {\"binary_data_size\": \(data.count)}}], \"outputs\": [{\"name\": \"probabilities\", "
                    + "\"parameters\": {\"classification\": 1}}]}", data)
        }
        let seven = try picture("seven"), three = try picture("three")
        let reply = try await infer(2, seven + three)
        let labels = (reply.outputs.first?["data"] as? [String] ?? []).map { $0.split(separator: ":").last }
        #expect(labels == ["7", "3"], "\(reply.text)")
        for (count, data, words) in [
            (1, seven + three, "found more"), (3, seven + three, "found 2"), (1, Array(seven.dropLast()), "element 0"),
            (1, [1, 0, 0] as [UInt8], "four bytes"), (1, [255, 255, 255, 255, 0], "4294967295 bytes of element 0"),
            (5, seven, "at most 4"), (0, [], "at least one"),
        ] as [(Int, [UInt8], String)] {
            let reply = try await infer(count, data)
            #expect(reply.status == 400 && reply.error.contains(words), "\(words): \(reply.text.prefix(300))")
        }
    }

    @Test("pictures as base64 are flat or nested as their shape; ragged lists are refused with the place")
    func picturesAreNestedRegularly() async throws {
        let world = try await World()
        let file = SharedData.packageRoot.appendingPathComponent("examples/seven.png")
        let seven = "\"\(try Data(contentsOf: file).base64EncodedString())\""
        func infer(_ shape: String, _ data: String) async throws -> Reply {
            try await world.infer(
                "digits",
                "{\"inputs\": [{\"name\": \"image\", \"datatype\": \"BYTES\", \"shape\": \(shape), \"data\": \(data)}]}"
            )
        }
        for (shape, data) in [
            ("[2]", "[\(seven),\(seven)]"), ("[2, 1]", "[\(seven),\(seven)]"), ("[2, 1]", "[[\(seven)],[\(seven)]]"),
            ("[2]", "[[\(seven)],[\(seven)]]"), ("[1]", seven),
        ] {
            let reply = try await infer(shape, data)
            #expect(reply.status == 200, "\(reply.text)")
        }
        for (shape, data, words) in [
            ("[2]", "[[\(seven)],\(seven)]", "expected an array at [1], found a picture"),
            ("[2]", "[\(seven),[\(seven)]]", "expected a picture at [1], found an array"),
            ("[3, 1]", "[[\(seven)],[\(seven),\(seven)]]", "expected an array of 1 at [1], found an array of 2"),
            ("[4, 1]", "[[\(seven),\(seven)],[\(seven),\(seven)]]", "nested as [2,2]"),
        ] {
            let reply = try await infer(shape, data)
            #expect(reply.status == 400 && reply.error.contains(words), "\(reply.text)")
        }
    }

    // MARK: The repository

    @Test("a model is unloaded and loaded through /v2/repository, and the index shows its state")
    func modelsAreUnloadedAndLoaded() async throws {
        let world = try await World { $0.repositoryControl = .all }
        func index(_ body: String) async throws -> [[String: Any]] {
            let reply = try await world.answer("POST /v2/repository/index", Array(body.utf8))
            return try JSONSerialization.jsonObject(with: Data(reply.response.body)) as? [[String: Any]] ?? []
        }
        #expect(try await index("").compactMap { $0["name"] as? String } == ["bare", "digits", "rows"])
        #expect(try await world.answer("GET /v2/models/bare/ready").status == 200)
        #expect(try await world.answer("POST /v2/repository/models/bare/unload").status == 200)
        #expect(try await world.answer("GET /v2/models/bare/ready").status == 503)
        let all = try await index("{}").first
        #expect(all?["state"] as? String == "UNAVAILABLE" && all?["reason"] as? String == "unloaded")
        #expect(try await index("{\"ready\": true}").compactMap { $0["name"] as? String } == ["digits", "rows"])
        // The statistics of all models include only loaded ones; those of a named model include unloaded ones.
        func counted(_ path: String) async throws -> Int? {
            (try await world.answer("GET \(path)").json["model_stats"] as? [Any])?.count
        }
        #expect(try await counted("/v2/models/stats") == 2)
        #expect(try await counted("/v2/models/bare/stats") == 1)
        for parameter in ["\"config\": \"{}\"", "\"file:1/model.onnx\": \"AA==\""] {
            let reply = try await world.answer(
                "POST /v2/repository/models/bare/load", Array("{\"parameters\": {\(parameter)}}".utf8))
            #expect(reply.status == 400 && reply.error.contains("as their bundles describe them"), "\(reply.text)")
        }
        #expect(try await world.answer("POST /v2/repository/models/bare/load").status == 200)
        #expect(try await world.answer("GET /v2/models/bare/ready").status == 200)
    }

    // MARK: The page

    /// The page's script runs by an unpredictable nonce, and HEAD has the length of GET.
    @Test("each answer of the page has a new nonce in its script and policy, and the same length")
    func thePageHasANonceOfItsOwn() async throws {
        let world = try await World()
        var nonces = Set<String>(), lengths = Set<Int>()
        for _ in 0..<100 {
            let reply = try await world.answer("GET /")
            let policy = try #require(reply["Content-Security-Policy"])
            let nonce = String(try #require(policy.split(separator: "nonce-").dropFirst().first).prefix { $0 != "'" })
            #expect(reply.text.contains("<script nonce=\"\(nonce)\">") && !reply.text.contains("NONCE"))
            #expect(reply["Cache-Control"] == "private, no-cache" && policy.contains("default-src 'none'"))
            nonces.insert(nonce)
            lengths.insert(reply.response.body.count)
        }
        #expect(nonces.count == 100 && lengths.count == 1 && nonces.allSatisfy { $0.utf8.count == 32 })
    }
}
