import FlowControl
import Foundation
import HTTPServer
import ImagePipeline
import Inference
internal import Repository
import Settings
import TestSupport
import Testing

/// Models with an open picture size: the expected answers come from numpy and Pillow
/// (Tests/FixtureMakers/make-own-size-fixtures).
@Suite(.timeLimit(.minutes(3))) struct OwnSizeTests {
    private typealias World = OpenInferenceHandlersTests.World
    private typealias Reply = OpenInferenceHandlersTests.Reply

    private static let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/own-size")

    private struct Case: Decodable {
        let picture: String, model: String, pixels: String
        let width: Int, height: Int, tolerance: Int
    }

    private static func world(maxPixels: Int? = nil) async throws -> World {
        try await World({ if let maxPixels { $0.maxPixels = maxPixels } }) { folder in
            let models = fixtures.appendingPathComponent("models")
            for name in try FileManager.default.contentsOfDirectory(atPath: models.path) {
                try FileManager.default.copyItem(
                    at: models.appendingPathComponent(name), to: folder.appendingPathComponent(name))
            }
        }
    }

    private static func file(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: fixtures.appendingPathComponent("pictures/\(name)")))
    }

    private static func gray(_ width: Int, _ height: Int, _ level: UInt8 = 90) throws -> [UInt8] {
        let pixels = [UInt8](repeating: level, count: width * height * 3)
        return try pixels.withUnsafeBytes {
            try PNGEncoder.encode(width: width, height: height, channels: 3, pixels: $0)
        }
    }

    /// The size of a PNG and its pixels, of one or three bytes.
    private static func pixels(_ png: [UInt8], channels: Int) throws -> (width: Int, height: Int, pixels: [UInt8]) {
        let info = try png.withUnsafeBytes { try ImagePipeline.probe($0) }
        let spec = ImageTensorSpec(
            width: info.width, height: info.height, channelOrder: channels == 1 ? .gray : .rgb, cropAndScale: .scaleFill
        )
        let pipeline = try ImagePipeline(spec: spec)
        var pixels = [UInt8](repeating: 0, count: spec.byteCount)
        _ = try png.withUnsafeBytes { png in
            try pixels.withUnsafeMutableBytes { try pipeline.prepare(png, into: $0) }
        }
        return (info.width, info.height, pixels)
    }

    private func predict(
        _ world: World, _ model: String, _ picture: [UInt8], _ query: String = "", task: String = "predict",
        accept: String = "image/png"
    ) async throws -> Reply {
        try await world.answer(
            "POST /v1/models/\(model)/\(task)\(query)", picture, fields: "\nContent-Type: image/png\nAccept: \(accept)")
    }

    @Test("models with an open picture size give the sizes and pixels that numpy and Pillow give")
    func theAnswer_hasTheSizeThatWasSent() async throws {
        let world = try await Self.world()
        let data = try Data(contentsOf: Self.fixtures.appendingPathComponent("expected.json"))
        let cases = try JSONDecoder().decode([Case].self, from: data)
        #expect(cases.count == 27)
        for one in cases {
            let name = "\(one.model), \(one.picture)", picture = try Self.file(one.picture)
            let isMask = one.model == "greatest"
            let reply = try await predict(
                world, one.model, picture, task: isMask ? "segment" : "predict",
                accept: isMask ? "application/json" : "image/png")
            #expect(reply.status == 200, "\(name): \(reply.text.prefix(300))")
            var png = reply.response.body
            if isMask {
                let text = (reply.json["mask"] as? [String: Any])?["b64"] as? String ?? ""
                png = Array(Data(base64Encoded: text) ?? Data())
            } else {
                #expect(reply["Content-Type"] == "image/png", "\(name)")
            }
            let found = try Self.pixels(png, channels: isMask ? 1 : 3)
            #expect(found.width == one.width && found.height == one.height, "\(name): \(found.width) x \(found.height)")
            let wanted = Array(try #require(Data(base64Encoded: one.pixels)))
            let worst = zip(found.pixels, wanted).map { abs(Int($0) - Int($1)) }.max() ?? 255
            #expect(found.pixels.count == wanted.count && worst <= one.tolerance, "\(name): off by \(worst)")
        }
        #expect(try await world.repository.model(named: "identity").limiter.snapshot.inFlight == 0)
    }

    @Test("a JSON answer has the same PNG, and each picture of a list has its own size")
    func jsonHasTheSamePicture_andListsHaveEachItsOwn() async throws {
        let world = try await Self.world()
        let picture = try Self.file("20x30.png")
        let png = try await predict(world, "upscale", picture).response.body
        let reply = try await predict(world, "upscale", picture, accept: "application/json")
        let output = (reply.json["outputs"] as? [String: Any])?["y"] as? [String: Any]
        #expect(Data(base64Encoded: output?["b64"] as? String ?? "") == Data(png), "\(reply.text.prefix(200))")
        var body = Data()
        let names = ["16x12.png", "64x16.png", "1x1.png", "16x12.png"]
        for name in names {
            body += Data("--b\r\nContent-Disposition: form-data; name=\"image\"; filename=\"f\"\r\n\r\n".utf8)
            body += Data(try Self.file(name)) + Data("\r\n".utf8)
        }
        body += Data("--b--\r\n".utf8)
        let list = try await world.answer(
            "POST /v1/models/upscale/predict", Array(body), fields: "\nContent-Type: multipart/form-data; boundary=b")
        let results = list.json["results"] as? [[String: Any]] ?? []
        let sizes = try results.map { result in
            let output = (result["outputs"] as? [String: Any])?["y"] as? [String: Any]
            let png = Array(Data(base64Encoded: output?["b64"] as? String ?? "") ?? Data())
            let found = try Self.pixels(png, channels: 3)
            return "\(found.width)x\(found.height)"
        }
        #expect(sizes == ["32x24", "128x32", "2x2", "32x24"], "\(list.text.prefix(300))")
    }

    @Test("explain shows the tensor of the picture in the size that the model's fitting rule gives")
    func explain_showsTheTensorOfThePicture() async throws {
        let world = try await Self.world()
        // Multiples of 8: with a margin, stretched to the nearest, cut to the one below.
        for (model, width, height) in [("fit", 24, 32), ("fill", 24, 32), ("center", 16, 24), ("identity", 20, 30)] {
            let reply = try await predict(world, model, Self.file("20x30.png"), "?explain=png")
            #expect(reply.status == 200, "\(reply.text.prefix(300))")
            let found = try Self.pixels(reply.response.body, channels: 3)
            #expect(found.width == width && found.height == height, "\(model): \(found.width) x \(found.height)")
            let steps = try await predict(world, model, Self.file("20x30.png"), "?explain=preprocess")
            #expect(steps.status == 200, "\(steps.text.prefix(300))")
        }
        // A request may ask for another way to fit.
        let filled = try await predict(world, "center", Self.file("20x30.png"), "?explain=png&crop=fit")
        #expect(try Self.pixels(filled.response.body, channels: 3).width == 24)
    }

    @Test("a model with an open picture size describes its smallest, largest and multiple sizes")
    func theModelSaysWhatItTakes() async throws {
        let world = try await Self.world()
        let reply = try await world.answer("GET /v1/models/fit")
        let input = try #require((reply.json["inputs"] as? [[String: Any]])?.first, "\(reply.text.prefix(300))")
        #expect(input["shape"] as? [Int] == [1, -1, -1, 3])
        let size = input["open_size"] as? [String: [Int]]
        #expect(size == ["minimum": [8, 8], "maximum": [32, 32], "multiple": [8, 8]], "\(input)")
        let shapes = (input["shapes"] as? [String: Any])?["ranges"] as? [[Int]]
        #expect(shapes == [[1, 1], [8, 32], [8, 32], [3, 3]])
        let usual = try await world.answer("GET /v1/models/identity")
        let open = ((usual.json["inputs"] as? [[String: Any]])?.first?["open_size"] as? [String: [Int]])
        #expect(open == ["minimum": [1, 1], "maximum": [1_024, 1_024], "multiple": [1, 1]])
    }

    @Test("extreme picture sizes are answered within the limits or refused with their size")
    func hostileSizes_areBoundedOrRefusedByName() async throws {
        let world = try await Self.world(maxPixels: 40_000)
        // The thinnest and the smallest pictures are within the limits of the tensor, and come back unchanged.
        for (model, width, height) in [
            ("identity", 1, 1), ("fit", 1, 1), ("fill", 1, 1), ("center", 1, 1), ("identity", 8_000, 1),
            ("fit", 1, 8_000),
            ("fill", 8_000, 1),
        ] {
            let reply = try await predict(world, model, Self.gray(width, height))
            #expect(reply.status == 200, "\(model), \(width) x \(height): \(reply.text.prefix(300))")
            let found = try Self.pixels(reply.response.body, channels: 3)
            #expect(found.width == width && found.height == height, "\(model): \(found.width) x \(found.height)")
            #expect(found.pixels.allSatisfy { $0 == 90 }, "\(model), \(width) x \(height)")
        }
        // A header that claims 64 megapixels.
        var header = try Self.gray(10, 10)
        header.replaceSubrange(16..<24, with: [0, 0, 0x1F, 0x40, 0, 0, 0x1F, 0x40])
        let large = try await predict(world, "upscale", header)
        #expect(large.status == 413 && large.error.contains("8000 x 8000"), "\(large.status) \(large.text)")
        // An output with four times the pixels of the picture.
        let doubled = try await predict(world, "upscale", Self.gray(150, 100))
        #expect(
            doubled.status == 400 && doubled.error.contains("a picture of 300 x 200 pixels, expected at most 40000"),
            "\(doubled.status) \(doubled.text)")
        #expect(try await predict(world, "upscale", Self.gray(100, 100)).status == 200)
        for name in ["identity", "fit", "upscale"] {
            #expect(try await world.repository.model(named: name).limiter.snapshot.inFlight == 0)
        }
    }

    /// A tensor that is sent directly must be within the limits, too.
    @Test("a tensor sent directly has the same size limits as a picture")
    func tensorsHaveTheSameLimits() async throws {
        let world = try await Self.world()
        func infer(_ side: Int) async throws -> Reply {
            let values = [Float](repeating: 0.5, count: side * side * 3)
            let json = """
                {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, \(side), \(side), 3],
                  "parameters": {"binary_data_size": \(values.count * 4)}}], "outputs": [{"name": "y"}]}
                """
            return try await world.infer("fit", json, values.withUnsafeBytes { Array($0) })
        }
        let good = try await infer(16)
        #expect(good.status == 200 && good.text.contains("[1,16,16,3]"), "\(good.text.prefix(200))")
        for side in [4, 40] {
            let reply = try await infer(side)
            #expect(reply.status == 400 && reply.error.contains("[1,\(side),\(side),3]"), "\(reply.text.prefix(300))")
        }
    }

    /// Memory depends on the picture's size, and a deadline ends the request, whatever the model ran before.
    @Test("memory is reserved for a picture by its size, and a deadline ends its inference")
    func roomAndDeadline_areThoseOfItsSize() async throws {
        let world = try await Self.world()
        let large = try Self.gray(1_000, 700)
        #expect(try await predict(world, "identity", Self.gray(16, 16)).status == 200)
        let late = try await predict(world, "identity", large, "?timeout_ms=1")
        #expect(late.status == 504 && late.json["code"] as? String == "deadline_exceeded", "\(late.text.prefix(200))")
        let watch = Task {
            var maximum = 0
            while !Task.isCancelled {
                maximum = max(maximum, DecodeBudget.shared.usage.used)
                try? await Task.sleep(for: .milliseconds(1))
            }
            return maximum
        }
        for _ in 0..<5 { #expect(try await predict(world, "identity", large).status == 200) }
        watch.cancel()
        // A tensor of floats.
        #expect(await watch.value >= 1_000 * 700 * 3 * 4)
        #expect(DecodeBudget.shared.usage.used == 0)
        #expect(try await world.repository.model(named: "identity").limiter.snapshot.inFlight == 0)
    }

    /// The expected time of a picture grows with its size, so that clients take turns by their cost.
    @Test("the expected cost of a picture grows with its pixels, up to the model's limits")
    func theCostOfAPicture_isThatOfItsSize() async throws {
        let world = try await Self.world()
        let model = try await world.repository.model(named: "upscale")
        let small = EncodedImage(try Self.gray(16, 16)), large = EncodedImage(try Self.gray(512, 512))
        #expect(model.reading(large).pictureTime == model.reading(large).decodingTime)
        _ = try await predict(world, "upscale", Self.gray(64, 64))
        func inference(_ image: EncodedImage) -> UInt64 {
            let read = model.reading(image)
            return read.pictureTime - read.decodingTime
        }
        #expect(inference(small) > 0)
        #expect(inference(large) > inference(small) * 900, "1,024 times the pixels")
        // A picture above the limits counts with the size at which it runs.
        let maximum = inference(EncodedImage(try Self.gray(1_024, 1_024)))
        #expect(inference(EncodedImage(try Self.gray(2_048, 2_048))) == maximum)
    }
}
