import FlowControl
import Foundation
import Inference
import InferenceService
internal import Repository
import TestSupport
import Testing

/// The form of answers: the nesting of outputs, the members of a batch's item, and the counters.
@Suite(.timeLimit(.minutes(2))) struct AnswerFormTests {
    private typealias World = OpenInferenceHandlersTests.World

    private static let picture = SharedData.packageRoot.appendingPathComponent("examples/seven.png")

    /// The nesting depends on the model's shape, not on the number of rows in an answer.
    @Test(
        "an output is nested by the model's shape, not by the number of rows in the answer",
        arguments: [
            (-1, 1, "[[0.9]]"), (-1, 1, "[[0.9],[2]]"), (-1, 3, "[[0.9,2,3]]"), (1, 1, "0.9"), (1, 3, "[0.9,2,3]"),
            (2, 1, "[[0.9],[2]]"),
        ])
    func anOutputIsNestedByTheShapeOfTheModel(_ rows: Int, _ columns: Int, _ value: String) async throws {
        let world = try await World(models: { folder in
            try IdentityModel.write("f32", named: "same", batch: rows, columns: columns, into: folder)
        })
        let reply = try await world.answer(
            "POST /v1/models/same/predict", Array("{\"inputs\": {\"x\": \(value)}}".utf8))
        #expect(reply.text.contains("\"outputs\":{\"x\":\(value)}"), "\(reply.text)")
    }

    /// An item's total, like the request's, begins with the request's first byte.
    @Test("each batch item's total time counts from the first byte of the request", arguments: ["classify", "predict"])
    func theTotalOfAnItemBeginsWithTheRequest(_ route: String) async throws {
        let world = try await World()
        let (body, fields) = try Requests.form([Self.picture, Self.picture])
        let reply = try await world.answer("POST /v1/models/digits/\(route)", body, fields: fields, age: .seconds(60))
        #expect(reply.status == 200, "\(reply.text)")
        let results = reply.json["results"] as? [[String: Any]] ?? []
        let totals = (results + [reply.json]).map { ($0["timing_ms"] as? [String: Double])?["total"] ?? 0 }
        #expect(totals.count == 3 && totals.allSatisfy { $0 >= 60_000 }, "\(totals)")
    }

    @Test("each batch item that fails is counted in ocelli_errors_total", arguments: ["classify", "predict"])
    func anItemThatFailsIsCounted(_ route: String) async throws {
        let world = try await World()
        let (body, fields) = try Requests.form([Self.picture, nil, nil])
        let reply = try await world.answer("POST /v1/models/digits/\(route)", body, fields: fields)
        let results = reply.json["results"] as? [[String: Any]] ?? []
        #expect(results.map { $0["code"] as? String } == [nil, "unsupported_media_type", "unsupported_media_type"])
        let page = try await world.answer("GET /metrics").text
        let counted = page.split(separator: "\n").filter {
            $0.hasPrefix("ocelli_errors_total{code=\"unsupported_media_type\"") && $0.hasSuffix(" 2")
        }
        #expect(counted.count == 1, "\(page)")
    }

    /// A long body is read in a slot, and the slot is released however the request ends.
    @Test("a long inference request releases its slot, whether the request succeeds or fails")
    func aSlotIsReleasedHoweverAnInferenceRequestEnds() async throws {
        let world = try await World()
        let space = String(repeating: " ", count: 20_000)
        func body(_ rows: Int, _ data: String, _ more: String = "") -> String {
            "{\"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": [\(rows), 3], \"data\": \(data)}]\(more)}\(space)"
        }
        let unknown = ", \"outputs\": [{\"name\": \"nothing\"}]"
        for (model, text, status) in [
            ("rows", body(1, "[1, 2, 3]"), 200), ("rows", body(2, "[1, 2, 3, 4, 5, 6]"), 200),
            ("rows", "[\(space)", 400),
            ("rows", body(9, "[\(String(repeating: "1,", count: 26))1]"), 400),
            ("rows", body(1, "[1, 2, 3]", unknown), 400),
            ("bare", body(1, "[1, 2]"), 400),
        ] {
            let reply = try await world.infer(model, text)
            #expect(reply.status == status, "\(reply.text)")
            let running = try await world.repository.model(named: model).limiter.snapshot.inFlight
            #expect(running == 0, "\(text.prefix(100))")
        }
    }
}
