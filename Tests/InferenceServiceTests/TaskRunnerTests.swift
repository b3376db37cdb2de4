import FlowControl
import Foundation
import HTTPServer
import Inference
internal import Repository
import Settings
import TestSupport
import Testing

/// The common part of all tasks, for any model: lists, `explain`, slots.
@Suite(.timeLimit(.minutes(3))) struct TaskRunnerTests {
    private typealias World = OpenInferenceHandlersTests.World
    private typealias Reply = OpenInferenceHandlersTests.Reply

    /// A task, a model that does it, and the member of its answers.
    struct Case: Sendable, CustomTestStringConvertible {
        let task: String, model: String, member: String
        /// The shape of a picture's tensor.
        let shape: [Int]
        var path: String { "POST /v1/models/\(model)/\(task)" }
        var testDescription: String { task }
    }

    static let tasks = [
        Case(task: "classify", model: "digits", member: "classifications", shape: [1, 1, 64, 64]),
        Case(task: "predict", model: "digits", member: "outputs", shape: [1, 1, 64, 64]),
        Case(task: "detect", model: "ssd_few", member: "detections", shape: [1, 16, 16, 3]),
        Case(task: "segment", model: "mask", member: "segments", shape: [1, 3, 8, 6]),
        Case(task: "keypoints", model: "points", member: "keypoints", shape: [1, 3, 8, 6]),
        Case(task: "embed", model: "embedder", member: "embedding", shape: [1, 3, 24, 24]),
    ]

    private static let picture = SharedData.packageRoot.appendingPathComponent("examples/seven.png")

    private static func world(_ change: (inout Settings) -> Void = { _ in }) async throws -> World {
        try await World(
            change,
            models: { folder in
                for name in ["ssd_few", "embedder"] {
                    try FileManager.default.copyItem(
                        at: SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/observations/\(name)"),
                        to: folder.appendingPathComponent(name))
                }
                try identity("mask", output: "\"type\": \"mask\", \"labels\": \"labels.txt\"", in: folder)
                try identity(
                    "points", output: "\"type\": \"keypoints\", \"layout\": \"heatmaps\", \"points\": 3", in: folder)
            })
    }

    /// Writes a bundle that returns the tensor of a picture.
    private static func identity(_ name: String, output: String, in folder: URL) throws {
        let bundle = folder.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
        try IdentityModel.write("f32", named: "net", shape: [1, 3, 8, 6], into: bundle)
        try "a\nb\nc\n".write(to: bundle.appendingPathComponent("labels.txt"), atomically: true, encoding: .utf8)
        try """
        { "name": "\(name)", "id": "\(name)", "version": "1", "model": { "file": "net.xml", "backend": "openvino" },
          "inputs": [ { "name": "x", "type": "image", "shape": [8, 6, 3], "format": "RGB", "layout": "NCHW",
                        "normalize": { "standard": "[0,1]" } } ],
          "outputs": [ { "name": "x", \(output) } ] }
        """.write(to: bundle.appendingPathComponent("model.json"), atomically: true, encoding: .utf8)
    }

    private func inFlight(_ world: World, _ model: String) async throws -> Int {
        try await world.repository.model(named: model).limiter.snapshot.inFlight
    }

    // MARK: explain

    @Test("explain shows each task's steps and the exact tensor that the model gets", arguments: tasks)
    func explain_ofATask_showsWhatTheModelSees(_ one: Case) async throws {
        let world = try await Self.world()
        let picture = Array(try Data(contentsOf: Self.picture))
        let steps = try await world.answer(one.path + "?explain=preprocess", picture)
        #expect(steps.status == 200 && steps.json["model"] as? String == one.model, "\(steps.text.prefix(300))")
        #expect((steps.json["steps"] as? [[String: Any]])?.first?["operation"] as? String == "decode")
        #expect((steps.json["tensor"] as? [String: Any])?["shape"] as? [Int] == one.shape)
        let png = try await world.answer(one.path + "?explain=png", picture)
        #expect(png["Content-Type"] == "image/png" && png.response.body.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        let npy = try await world.answer(one.path + "?explain=npy", picture)
        #expect(npy["Content-Type"] == "application/x-npy")
        let shape = "(" + one.shape.map { "\($0)," }.joined(separator: " ") + ")"
        #expect(String(decoding: npy.response.body.prefix(128), as: UTF8.self).contains(shape))
        #expect(try await inFlight(world, one.model) == 0)
        guard ["mask", "points"].contains(one.model) else { return }
        // The model returns its tensor, which `/v2` shows.
        let text = Data(picture).base64EncodedString()
        let tensor = try await world.infer(
            one.model,
            "{\"inputs\": [{\"name\": \"x\", \"datatype\": \"BYTES\", \"shape\": [1], \"data\": [\"\(text)\"]}], "
                + "\"parameters\": {\"binary_data_output\": true}}")
        #expect(tensor.status == 200 && tensor.data.count == 4 * one.shape.reduce(1, *), "\(tensor.error)")
        #expect(npy.response.body.suffix(tensor.data.count) == tensor.data[...])
    }

    @Test("explain of a picture in JSON gives the same tensor, and needs a picture")
    func explain_ofAPictureInJSON_isThatOfThePicture() async throws {
        let world = try await Self.world()
        let picture = try Data(contentsOf: Self.picture)
        let path = "POST /v1/models/digits/predict?explain=npy"
        let plain = try await world.answer(path, Array(picture))
        let json = "{\"inputs\": {\"image\": {\"b64\": \"\(picture.base64EncodedString())\"}}}"
        let coded = try await world.answer(path, Array(json.utf8))
        #expect(coded.status == 200 && coded.response.body == plain.response.body, "\(coded.error)")
        let none = try await world.answer(
            "POST /v1/models/rows/predict?explain=npy", Array("{\"inputs\": {\"x\": [1, 2, 3]}}".utf8))
        #expect(none.status == 400 && none.error.contains("the body has none"), "\(none.text)")
        for model in ["digits", "rows"] { #expect(try await inFlight(world, model) == 0) }
    }

    @Test("explain of several pictures is refused for each task", arguments: tasks)
    func explain_ofSeveralPictures_isRefused(_ one: Case) async throws {
        let world = try await Self.world()
        let (body, fields) = try Requests.form([Self.picture, Self.picture])
        let reply = try await world.answer(one.path + "?explain=png", body, fields: fields)
        #expect(reply.status == 400 && reply.error.contains("one picture at a time: the body has 2"), "\(reply.text)")
    }

    // MARK: Lists

    @Test(
        "an item of a list has the members of a single answer, and a failed item its error and number",
        arguments: tasks)
    func anItemOfAList_ofATask_hasTheMembersOfItsAnswer(_ one: Case) async throws {
        let world = try await Self.world()
        let single = try await world.answer(one.path, Array(try Data(contentsOf: Self.picture)))
        #expect(single.status == 200 && single.json[one.member] != nil, "\(single.text)")
        let (body, fields) = try Requests.form([Self.picture, nil])
        let reply = try await world.answer(one.path, body, fields: fields, age: .seconds(60))
        let results = try #require(reply.json["results"] as? [[String: Any]], "\(reply.text)")
        #expect(
            results.count == 2 && Set(reply.json.keys) == ["model", "version", "request_id", "results", "timing_ms"])
        let header: Set = one.task == "predict" ? ["model", "version", "request_id"] : []
        #expect(Set(results[0].keys) == Set(single.json.keys).subtracting(header))
        let word = one.task == "predict" ? "item" : "part"
        #expect(Set(results[1].keys) == ["error", "code", word] && results[1][word] as? Int == 2)
        #expect((results[1]["error"] as? String ?? "").hasPrefix("\(word) 2: "))
        let totals = [results[0], reply.json].map { ($0["timing_ms"] as? [String: Double])?["total"] ?? 0 }
        #expect(totals.allSatisfy { $0 >= 60_000 }, "\(totals)")
        #expect(reply["Vary"] == (["detect", "segment", "embed"].contains(one.task) ? "Accept" : nil))
    }

    @Test("embeddings as bytes are joined in order, and a broken picture fails the whole request")
    func embeddings_asBytes_areJoinedInOrder() async throws {
        let world = try await Self.world()
        let other = SharedData.packageRoot.appendingPathComponent("examples/three.png")
        func embed(_ pictures: [URL?]) async throws -> Reply {
            let (body, fields) = try Requests.form(pictures)
            return try await world.answer(
                "POST /v1/embed", body, fields: fields + "\nAccept: application/octet-stream")
        }
        let one = try await embed([Self.picture]), two = try await embed([other])
        let both = try await embed([Self.picture, other])
        #expect(both.status == 200 && one.response.body != two.response.body)
        #expect(both.response.body == one.response.body + two.response.body)
        let bad = try await embed([Self.picture, nil])
        #expect(bad.status == 415 && bad.error.hasPrefix("part 2: "), "\(bad.text)")
    }

    // MARK: Slots

    @Test("a request releases its slot, whether its pictures are good, broken or mixed", arguments: tasks)
    func aRequest_howeverItEnds_releasesItsSlot(_ one: Case) async throws {
        let world = try await Self.world()
        for pictures in [[Self.picture], [nil], [Self.picture, Self.picture], [Self.picture, nil], [nil, nil]] {
            let (body, fields) = try Requests.form(pictures)
            let reply = try await world.answer(one.path, body, fields: fields)
            #expect(reply.status == (pictures.count == 1 && pictures[0] == nil ? 415 : 200), "\(reply.text)")
            #expect(try await inFlight(world, one.model) == 0)
        }
    }

    /// With a single slot, items that waited for a second one would wait for ever.
    @Test("a list that was read in the only slot runs without waiting for a second slot")
    func aList_thatWasReadInASlot_doesNotWaitForIt() async throws {
        let world = try await Self.world { $0.maxInFlight = 1 }
        let list = try await world.answer(
            "POST /v1/models/rows/predict?timeout_ms=5000", Array("{\"items\": [[1, 2, 3], [4, 5, 6]]}".utf8))
        #expect(list.status == 200 && (list.json["results"] as? [[String: Any]])?.count == 2, "\(list.text)")
        let space = String(repeating: " ", count: 20_000)
        let batch = try await world.infer(
            "rows",
            "{\"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": [2, 3], \"data\": [1, 2, 3, 4, 5, 6]}], "
                + "\"parameters\": {\"timeout\": 5000000}}\(space)")
        #expect(batch.status == 200 && batch.outputs.first?["shape"] as? [Int] == [2, 3], "\(batch.text)")
    }
}
