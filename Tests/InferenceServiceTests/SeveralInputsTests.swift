import FlowControl
import Foundation
import HTTPServer
import Inference
internal import Repository
import TestSupport
import Testing

/// Models with several inputs, sent in one form.
@Suite(.timeLimit(.minutes(3))) struct SeveralInputsTests {
    private typealias World = OpenInferenceHandlersTests.World
    private typealias Reply = OpenInferenceHandlersTests.Reply

    private static let picture = SharedData.packageRoot.appendingPathComponent("examples/seven.png")

    /// Models that return their inputs: a picture, numbers (one input has the name of a parameter) and raw bytes; and
    /// two pictures.
    private static func world() async throws -> World {
        try await World(models: { folder in
            func bundle(_ name: String, _ tensors: [(name: String, shape: [Int])], _ inputs: String, _ outputs: String)
                throws
            {
                let bundle = folder.appendingPathComponent(name)
                try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
                try IdentityModel.write("f32", named: "net", tensors: tensors, into: bundle)
                try """
                { "name": "\(name)", "id": "\(name)", "version": "1",
                  "model": { "file": "net.xml", "backend": "openvino" }, "inputs": [ \(inputs) ], "outputs": [ \(outputs) ] }
                """.write(to: bundle.appendingPathComponent("model.json"), atomically: true, encoding: .utf8)
            }
            func picture(_ name: String) -> String {
                """
                { "name": "\(name)", "type": "image", "shape": [8, 6, 3], "format": "RGB", "crop_and_scale": "fill",
                  "normalize": { "standard": "[0,1]" } }
                """
            }
            func array(_ name: String, _ shape: [Int]) -> String {
                "{ \"name\": \"\(name)\", \"type\": \"array\", \"shape\": \(shape) }"
            }
            let raw = "{ \"name\": \"raw\", \"type\": \"string\", \"shape\": [1, 2], \"dtype\": \"float32\" }"
            try bundle(
                "mixed", [("photo", [1, 8, 6, 3]), ("vector", [1, 4]), ("threshold", [1, 1]), ("raw", [1, 2])],
                [picture("photo"), array("vector", [1, 4]), array("threshold", [1, 1]), raw].joined(separator: ","),
                [
                    array("photo", [1, 8, 6, 3]), array("vector", [1, 4]), array("threshold", [1, 1]),
                    array("raw", [1, 2]),
                ]
                .joined(separator: ","))
            try bundle(
                "pair", [("left", [1, 8, 6, 3]), ("right", [1, 8, 6, 3])],
                [picture("left"), picture("right")].joined(separator: ","),
                [array("left", [1, 8, 6, 3]), array("right", [1, 8, 6, 3])].joined(separator: ","))
        })
    }

    /// A part of a form: its name and data, and more fields of its header.
    private struct Part {
        var name: String, data: Data, more = ""

        static func text(_ name: String, _ text: String, _ more: String = "") -> Part {
            Part(name: name, data: Data(text.utf8), more: more)
        }

        static func file(_ name: String, _ url: URL = SeveralInputsTests.picture) throws -> Part {
            Part(name: name, data: try Data(contentsOf: url), more: "; filename=\"f\"")
        }
    }

    private func send(_ world: World, _ model: String, _ parts: [Part], _ query: String = "") async throws -> Reply {
        var body = Data()
        for part in parts {
            body += Data("--b\r\nContent-Disposition: form-data; name=\"\(part.name)\"\(part.more)\r\n\r\n".utf8)
            body += part.data + Data("\r\n".utf8)
        }
        body += Data("--b--\r\n".utf8)
        return try await world.answer(
            "POST /v1/models/\(model)/predict\(query)", Array(body),
            fields: "\nContent-Type: multipart/form-data; boundary=b")
    }

    private static func parts() throws -> [Part] {
        [
            try .file("photo"), .text("vector", "[1, 2.5, -3, 4e2]"), .text("threshold", "7"),
            .text("raw", "[0.5, 8]"),
        ]
    }

    private func outputs(_ reply: Reply) -> NSDictionary { reply.json["outputs"] as? NSDictionary ?? [:] }

    @Test("a form with each input by name gives the same outputs as the JSON request")
    func aForm_givesEachInputByName() async throws {
        let world = try await Self.world()
        let reply = try await send(world, "mixed", Self.parts())
        #expect(reply.status == 200, "\(reply.text.prefix(300))")
        // The JSON request gives the same outputs.
        let text = try Data(contentsOf: Self.picture).base64EncodedString()
        let json = """
            {"inputs": {"photo": {"b64": "\(text)"}, "vector": [1, 2.5, -3, 400], "threshold": 7, "raw": [0.5, 8]}}
            """
        let same = try await world.answer("POST /v1/models/mixed/predict", Array(json.utf8))
        #expect(outputs(same) == outputs(reply) && outputs(reply).count == 4, "\(same.text.prefix(300))")
        #expect(outputs(reply)["vector"] as? [Double] == [1, 2.5, -3, 400])
        // An input takes precedence over a parameter of the same name: 7 is not a threshold for labels.
        #expect(outputs(reply)["threshold"] as? Double == 7)
        #expect((reply.json["image"] as? [String: Any])?["format"] as? String == "png")
        // Two pictures.
        let both = try await send(world, "pair", [.file("left"), .file("right")])
        #expect(both.status == 200 && outputs(both)["left"] as? NSArray == outputs(both)["right"] as? NSArray)
        // Several items at once, in JSON.
        let item = json.dropFirst("{\"inputs\": ".count).dropLast()
        let items = "{\"items\": [\(item), \(item)]}"
        let list = try await world.answer("POST /v1/models/mixed/predict", Array(items.utf8))
        let results = (list.json["results"] as? [[String: Any]] ?? []).map { $0["outputs"] as? NSDictionary }
        #expect(results == [outputs(reply), outputs(reply)])
        #expect(try await world.repository.model(named: "mixed").limiter.snapshot.inFlight == 0)
    }

    @Test("a form part may be a file, text, JSON or base64, with the same outputs")
    func aPart_mayBeAnyFormOfItsValue() async throws {
        let world = try await Self.world()
        let whole = outputs(try await send(world, "mixed", Self.parts()))
        let b64 = try Data(contentsOf: Self.picture).base64EncodedString()
        let floats = Data(
            [Float(0.5), 8].flatMap { value in withUnsafeBytes(of: value.bitPattern.littleEndian, Array.init) })
        let others: [(Int, Part)] = [
            (0, .text("photo", "{\"b64\": \"\(b64)\"}")), (0, .text("photo", " \"\(b64)\"")),
            // A picture without a file name, and the only picture under another name.
            (0, Part(name: "photo", data: try Data(contentsOf: Self.picture))), (0, try .file("image")),
            (0, try .file("upload")),
            (1, .text("vector", "[[1, 2.5, -3, 400]]", "\r\nContent-Type: application/json")),
            (1, .text("vector", "[1,2.5,-3,400]", "; filename=\"v.json\"\r\nContent-Type: application/octet-stream")),
            (2, .text("threshold", " [7]\r\n")), (3, Part(name: "raw", data: floats, more: "; filename=\"raw\"")),
        ]
        for (index, part) in others {
            var parts = try Self.parts()
            parts[index] = part
            let reply = try await send(world, "mixed", parts.reversed())
            #expect(outputs(reply) == whole && whole.count == 4, "\(part.name): \(reply.text.prefix(300))")
        }
        // Other fields of a page are ignored; parameters are read.
        let more = [Part.text("token", "abc"), .text("crop", "fill"), .text("timeout_ms", "60000")]
        #expect(outputs(try await send(world, "mixed", Self.parts() + more)) == whole)
        let wrong = try await send(world, "mixed", Self.parts() + [.text("crop", "none")])
        #expect(wrong.status == 400 && wrong.error.contains("form field \"crop\""), "\(wrong.text)")
    }

    @Test("a wrong, repeated, missing or unknown form part is refused and named")
    func aWrongPart_isNamed() async throws {
        let world = try await Self.world()
        let cases: [(String, [Part], Int, String)] = [
            (
                "mixed", [.text("vector", "[1, 2]")], 400,
                "part 2: input \"vector\": expected 4 numbers (shape [1,4]), found 2"
            ),
            (
                "mixed", [.text("vector", "1,2,3,4")], 400,
                "part 2: input \"vector\": expected 4 numbers (shape [1,4]), found 1"
            ),
            ("mixed", [.text("vector", "")], 400, "part 2, input \"vector\","),
            ("mixed", [.text("vector", "[1, 2, 3, \"x\"]")], 400, "part 2"),
            ("mixed", [.text("photo", "no picture")], 415, "input \"photo\": "),
            ("mixed", [.text("photo", "{\"b64\": 7}")], 400, "part 1: input \"photo\": \"b64\""),
            ("mixed", [.text("raw", "xyz", "; filename=\"raw\"")], 400, "part 4, input \"raw\","),
        ]
        for (model, changed, status, words) in cases {
            var parts = try Self.parts()
            for part in changed { parts[parts.firstIndex { $0.name == part.name } ?? 0] = part }
            let reply = try await send(world, model, parts)
            #expect(reply.status == status && reply.error.contains(words), "\(words): \(reply.text)")
        }
        let twice = try await send(world, "mixed", Self.parts() + [.text("vector", "[1, 2, 3, 4]")])
        #expect(
            twice.status == 400 && twice.error.contains("part 5 is input \"vector\" again, as part 2 is"),
            "\(twice.text)")
        let missing = try await send(world, "mixed", Array(Self.parts().dropLast(2)))
        #expect(
            missing.status == 400 && missing.error.contains("input \"threshold\", \"raw\": is missing"),
            "\(missing.text)")
        let other = try await send(world, "mixed", Self.parts() + [.file("phtoo")])
        #expect(
            other.status == 400
                && other.error.contains("part 5 is named \"phtoo\": the model has no input of this name"),
            "\(other.text)")
        // It is unknown which of the two inputs the picture is for.
        let either = try await send(world, "pair", [.file("left"), .file("image")])
        #expect(either.status == 400 && either.error.contains("it has \"left\", \"right\""), "\(either.text)")
        let many = try await send(world, "mixed", Array(repeating: .text("vector", "[]"), count: 40))
        #expect(many.status == 400 && many.error.contains("(max_batch)"), "\(many.text)")
        #expect(try await world.repository.model(named: "mixed").limiter.snapshot.inFlight == 0)
    }

    @Test("explain of a form shows its only picture, and the other inputs are not required")
    func explain_ofAForm_showsItsPicture() async throws {
        let world = try await Self.world()
        func tensor(_ model: String, _ parts: [Part]) async throws -> [UInt8] {
            let npy = try await send(world, model, parts, "?explain=npy")
            #expect(npy.status == 200 && npy["Content-Type"] == "application/x-npy", "\(npy.text.prefix(300))")
            return npy.response.body
        }
        let bytes = try await tensor("mixed", Self.parts())
        #expect(bytes.count == 704, "128 bytes of header, 8 by 6 by 3 floats")
        // Neither the other inputs nor the other picture are needed.
        #expect(try await tensor("mixed", [.file("photo")]) == bytes)
        for name in ["left", "right"] { #expect(try await tensor("pair", [.file(name)]) == bytes) }
        let both = try await send(world, "pair", [.file("left"), .file("right")], "?explain=png")
        #expect(
            both.status == 400 && both.error.contains("one picture at a time: the body has 2 (\"left\", \"right\")"),
            "\(both.text)")
        let none = try await send(world, "mixed", [.text("vector", "[1, 2, 3, 4]")], "?explain=png")
        #expect(none.status == 400 && none.error.contains("the body has none"), "\(none.text)")
        #expect(try await world.repository.model(named: "pair").limiter.snapshot.inFlight == 0)
    }
}
