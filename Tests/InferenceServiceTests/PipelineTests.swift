import FlowControl
import Foundation
import HTTPServer
import ImagePipeline
import Inference
internal import Repository
import Settings
import TestSupport
import Testing

/// Pipelines answered by real models without a socket: Tests/Fixtures/pipelines. Their detector finds the same 64
/// objects in every picture.
@Suite(.timeLimit(.minutes(3))) struct PipelineTests {
    private typealias World = OpenInferenceHandlersTests.World
    private typealias Reply = OpenInferenceHandlersTests.Reply

    private static let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/pipelines")
    private static let names = ["spots", "many", "colors", "means", "looks", "all", "mass", "tiled"]

    /// - Parameters:
    ///   - more: other pipelines, as JSON.
    ///   - names: the names of pipelines in the fixtures.
    static func world(
        _ change: (inout Settings) -> Void = { _ in }, _ more: [String: String] = [:], names: [String] = names
    ) async throws -> OpenInferenceHandlersTests.World {
        try await World(
            change,
            models: { folder in
                for name in names {
                    try FileManager.default.copyItem(
                        at: fixtures.appendingPathComponent(name), to: folder.appendingPathComponent(name))
                }
                for (name, pipeline) in more { try write(name, pipeline, into: folder) }
            })
    }

    private static func write(_ name: String, _ pipeline: String, into folder: URL) throws {
        let bundle = folder.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
        try "{\"name\": \"\(name)\", \"id\": \"\(name)\", \"version\": \"1\", \"pipeline\": \(pipeline)}"
            .write(to: bundle.appendingPathComponent("model.json"), atomically: true, encoding: .utf8)
    }

    /// A picture of noise, without a flat part.
    static func png(_ width: Int, _ height: Int, seed: UInt64 = 7) throws -> [UInt8] {
        var random = SplitMix(seed: seed)
        let pixels = (0..<width * height * 3).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        return try pixels.withUnsafeBytes {
            try PNGEncoder.encode(width: width, height: height, channels: 3, pixels: $0)
        }
    }

    private func detections(_ reply: Reply) -> [[String: Any]] { reply.json["detections"] as? [[String: Any]] ?? [] }

    private func number(_ value: Any?) -> Double { (value as? NSNumber)?.doubleValue ?? .nan }

    // MARK: Answers

    @Test("each detection has the answers of its stages by name, and no stages for other classes")
    func answer_ofAPipeline_hasItsStages() async throws {
        let world = try await Self.world()
        let reply = try await world.answer("POST /v1/models/looks/detect", Self.png(200, 120))
        #expect(reply.status == 200, "\(reply.text.prefix(400))")
        let found = detections(reply)
        #expect(reply.json["model"] as? String == "looks" && reply.json["version"] as? String == "1")
        // Confidences from 0.99 to 0.60 in steps of 0.01. Even detections take three crops, odd ones two, of 64; the
        // last crop is of a detection in a detection.
        #expect(found.count == 39 || found.count == 40)
        let looked = found.filter { $0["color"] != nil }
        let nested = found.flatMap { ($0["parts"] as? [String: Any])?["detections"] as? [[String: Any]] ?? [] }
        #expect(nested.count { $0["shade"] != nil } == 1)
        #expect(
            looked.count == 25 && reply.json["skipped"] as? Int == found.count - 25 + nested.count - 1,
            "\(looked.count)")
        for (place, one) in found.enumerated() {
            guard place < 25 else {
                #expect(["color", "plain", "face", "parts"].allSatisfy { one[$0] == nil })
                continue
            }
            let color = one["color"] as? [String: Any], plain = one["plain"] as? [String: Any]
            #expect((color?["classifications"] as? [[String: Any]])?.count == 2)
            #expect(color?["image"] == nil && color?["timing_ms"] == nil)
            #expect((plain?["embedding"] as? [Any])?.count == 3 && plain?["dimension"] as? Int == 3)
            #expect((one["face"] != nil) == (one["label"] as? String == "even"))
            #expect((one["parts"] != nil) == (one["label"] as? String == "odd"))
        }
        let stages = (reply.json["timing_ms"] as? [String: Any])?["stages"] as? [String: Any]
        let stageNames = Set((stages ?? [:]).keys)
        #expect(stageNames.isSuperset(of: ["color", "plain", "face", "parts"]))
        #expect(reply["Server-Timing"]?.contains(", stage.color;dur=") == true)
        #expect(try await world.repository.model(named: "spots").limiter.snapshot.inFlight == 0)
    }

    @Test("boxes of a stage that detects are in the picture's pixels, within the detection's box")
    func nestedBoxes_areInThePicture() async throws {
        let world = try await Self.world()
        let reply = try await world.answer("POST /v1/models/looks/detect", Self.png(200, 120))
        let alone = try await world.answer("POST /v1/models/spots/detect?threshold=0.97", Self.png(100, 100))
        let parts = detections(alone)
        #expect(parts.count >= 2)
        for one in detections(reply) {
            guard let answer = one["parts"] as? [String: Any], let box = one["box"] as? [String: Any] else { continue }
            let nested = answer["detections"] as? [[String: Any]] ?? []
            #expect(nested.count == parts.count)
            for (inner, part) in zip(nested, parts) {
                guard let got = inner["box"] as? [String: Any], let share = part["box"] as? [String: Any] else {
                    Issue.record("a detection without a box")
                    continue
                }
                for (place, side) in [("x", "width"), ("y", "height")] {
                    // The detector finds the same parts of any picture, so also of a crop.
                    let start = number(box[place]) + number(share[place]) / 100 * number(box[side])
                    #expect(
                        abs(number(got[place]) - start) < 0.01
                            && abs(number(got[side]) - number(share[side]) / 100 * number(box[side])) < 0.01)
                }
                #expect(inner["shade"] != nil || reply.json["skipped"] != nil)
            }
        }
    }

    @Test("a crop that fails is an error in its place, and the other crops are answered")
    func stageThatFails_isAnErrorInItsPlace() async throws {
        let world = try await Self.world(
            { _ in },
            [
                "faces": """
                {"model": "spots", "threshold": 0.9, "each": [
                  {"as": "face", "model": "means", "task": "embed", "crop": {"align": "five_points"}},
                  {"as": "color", "model": "colors", "task": "classify"}]}
                """
            ])
        let reply = try await world.answer("POST /v1/models/faces/detect", Self.png(90, 90))
        #expect(reply.status == 200, "\(reply.text.prefix(300))")
        var failed = 0
        for one in detections(reply) {
            let face = one["face"] as? [String: Any]
            #expect((one["color"] as? [String: Any])?["classifications"] != nil)
            let hasPoints = (one["keypoints"] as? [Any])?.allSatisfy { !($0 is NSNull) } ?? false
            #expect((face?["embedding"] != nil) == hasPoints)
            guard !hasPoints else { continue }
            failed += 1
            #expect(face?["code"] as? String == "invalid_input")
            #expect((face?["error"] as? String)?.contains("five points") == true)
        }
        #expect(failed >= 2)
        let page = try await world.answer("GET /metrics").text
        #expect(page.contains("ocelli_pipeline_crop_failures_total{model=\"faces\",stage=\"face\"} \(failed)"))
        #expect(page.contains("ocelli_pipeline_stage_duration_seconds_count{model=\"faces\",stage=\"color\"} 1"))
    }

    @Test("beyond max_crops the least confident detections get no stages and are counted", arguments: [1, 5, 64])
    func finds_beyondALimit_areSkipped(_ maximum: Int) async throws {
        let world = try await Self.world { $0.maxCrops = maximum }
        let reply = try await world.answer("POST /v1/models/all/detect", Self.png(60, 50))
        let found = detections(reply)
        #expect(found.count == 64)
        let looked = found.indices.filter { found[$0]["color"] != nil }
        #expect(looked == Array(0..<maximum))
        #expect(reply.json["skipped"] as? Int == (maximum == 64 ? nil : 64 - maximum))
        let page = try await world.answer("GET /metrics").text
        #expect(page.contains("ocelli_pipeline_crops_total{model=\"all\",stage=\"color\"} \(maximum)"))
        #expect(page.contains("ocelli_pipeline_skipped_total{model=\"all\"} \(64 - maximum)"))
    }

    @Test("ten thousand detections are answered, with no more crops than allowed")
    func tenThousandFinds_areBounded() async throws {
        let world = try await Self.world()
        let reply = try await world.answer("POST /v1/models/mass/detect", Self.png(300, 200))
        let found = detections(reply)
        #expect(found.count == 10_000 && reply.json["skipped"] as? Int == 9_936)
        #expect(found.count { $0["color"] != nil } == 64)
    }

    @Test("several pictures share the crops of a request")
    func batch_sharesTheCrops() async throws {
        let world = try await Self.world { $0.maxCrops = 64 }
        let (body, fields) = try Requests.form([
            Self.png(50, 50), Array("none".utf8), Self.png(60, 60), Self.png(70, 70),
        ])
        let reply = try await world.answer("POST /v1/models/all/detect", body, fields: fields)
        let results = reply.json["results"] as? [[String: Any]] ?? []
        #expect(
            results.count == 4 && results[1]["code"] as? String == "unsupported_media_type", "\(reply.text.prefix(300))"
        )
        for place in [0, 2, 3] {
            let found = results[place]["detections"] as? [[String: Any]] ?? []
            #expect(found.count { $0["color"] != nil } == 16 && results[place]["skipped"] as? Int == 48)
        }
    }

    @Test("a deadline ends a pipeline and leaves no slot taken")
    func deadline_endsEveryStage() async throws {
        let world = try await Self.world()
        let late = try await world.answer("POST /v1/models/all/detect?timeout_ms=1", Self.png(700, 500))
        #expect(late.status == 504 && late.json["code"] as? String == "deadline_exceeded", "\(late.text.prefix(200))")
        for name in ["spots", "colors"] {
            #expect(try await world.repository.model(named: name).limiter.snapshot.inFlight == 0)
        }
        #expect(DecodeBudget.shared.usage.used == 0)
    }

    // MARK: Tiles

    @Test("detections of all tiles have boxes in the pixels of the whole picture")
    func tiles_coverThePicture() async throws {
        let world = try await Self.world()
        let alone = detections(try await world.answer("POST /v1/models/spots/detect?threshold=0.985", Self.png(64, 64)))
        let reply = try await world.answer("POST /v1/models/tiled/detect", Self.png(160, 64))
        // Tiles begin at 0, 48 and 96.
        let found = detections(reply)
        #expect(alone.count == 1 && found.count == 3, "\(reply.text.prefix(300))")
        let first = number((alone.first?["box"] as? [String: Any])?["x"])
        #expect(
            found.map { number(($0["box"] as? [String: Any])?["x"]) }.sorted().map { $0 - first }.map { ($0).rounded() }
                == [0, 48, 96])
        let image = reply.json["image"] as? [String: Any]
        #expect((image?["displayed"] as? [String: Any])?["width"] as? Int == 160 && image?["seen"] == nil)
        let small = try await world.answer("POST /v1/models/tiled/detect", Self.png(20, 30))
        #expect(detections(small).count == 1)
    }

    // MARK: Pictures as answers

    @Test("a picture answer covers the chosen detections with a margin and changes no other pixel")
    func picture_withCovers_hidesTheFinds() async throws {
        let world = try await Self.world()
        let (width, height) = (160, 120), source = try Self.png(160, 120)
        let before = try Self.rgb(source, width, height)
        for cover in ["blur", "fill"] {
            let reply = try await world.answer(
                "POST /v1/models/spots/detect?threshold=0.9&top=1&\(cover)=even", source, fields: "\nAccept: image/png")
            #expect(reply.status == 200 && reply["Content-Type"] == "image/png" && reply["Vary"] == "Accept")
            let after = try Self.rgb(reply.response.body, width, height)
            let found = detections(try await world.answer("POST /v1/models/spots/detect?threshold=0.9", source))
            let hidden = found.filter { $0["label"] as? String == "even" }.map {
                one -> (x: Range<Int>, y: Range<Int>) in
                let box = one["box"] as? [String: Any] ?? [:]
                func side(_ start: String, _ length: String, _ maximum: Int) -> Range<Int> {
                    let (a, b) = (number(box[start]), number(box[length]))
                    return max(0, Int((a - b / 10).rounded(.down)))..<min(maximum, Int((a + b * 1.1).rounded(.up)))
                }
                return (side("x", "width", width), side("y", "height", height))
            }
            // `top` does not limit them.
            #expect(hidden.count >= 4)
            var changed = 0, seen = 0
            for y in 0..<height {
                for x in 0..<width {
                    let place = 3 * (y * width + x)
                    if !hidden.contains(where: { $0.x.contains(x) && $0.y.contains(y) }) {
                        changed += after[place..<place + 3] == before[place..<place + 3] ? 0 : 1
                    } else if cover == "fill" {
                        seen += after[place..<place + 3].allSatisfy { $0 == 0 } ? 0 : 1
                    }
                }
            }
            #expect(changed == 0 && seen == 0)
            guard cover == "blur", let last = hidden.last else { continue }
            // The last detection is covered last, so that all of its cover is visible, in at most 64 blocks.
            var colors: Set<[UInt8]> = []
            for y in last.y {
                for x in last.x { colors.insert(Array(after[3 * (y * width + x)..<3 * (y * width + x) + 3])) }
            }
            #expect(colors.count <= 64, "\(colors.count)")
        }
        let all = try await world.answer(
            "POST /v1/models/spots/detect?fill=all", source, fields: "\nAccept: image/jpeg")
        #expect(all["Content-Type"] == "image/jpeg" && all.response.body.starts(with: [0xFF, 0xD8, 0xFF]))
        #expect(DecodeBudget.shared.usage.used == 0)
    }

    @Test("a picture answer without blur or fill has the detections drawn, also of a pipeline")
    func picture_withoutCovers_isDrawnOn() async throws {
        let world = try await Self.world()
        let source = try Self.png(160, 120)
        for model in ["spots", "looks", "tiled"] {
            let reply = try await world.answer("POST /v1/models/\(model)/detect", source, fields: "\nAccept: image/png")
            #expect(reply.status == 200, "\(reply.text.prefix(200))")
            #expect(try Self.rgb(reply.response.body, 160, 120) != Self.rgb(source, 160, 120))
        }
    }

    @Test("a request for blur or fill is refused if its answer might show too much")
    func picture_thatMayShowTooMuch_isAnError() async throws {
        let world = try await Self.world { $0.tolerateTruncated = true }
        let source = try Self.png(160, 90), accept = "\nAccept: image/jpeg"
        let cases: [(String, [UInt8], String, Int, String)] = [
            (
                "blur=evn", source, accept, 400,
                "query parameter \"blur\": expected one of \"even\", \"odd\", or a number from 0 to 1, found \"evn\" (did you mean \"even\"?); "
                    + "\"all\" covers every find"
            ),
            ("fill=nobody", source, accept, 400, "query parameter \"fill\": "),
            ("classes=nobody", source, accept, 400, "input \"classes\": "),
            ("blur=even", source, "", 400, "Accept: image/jpeg"),
            ("blur=even&crop=center", source, accept, 400, "only a part of the picture"),
            ("fill=even", Array(source.prefix(source.count / 2)), accept, 400, "truncated"),
        ]
        for (query, body, fields, status, words) in cases {
            let reply = try await world.answer("POST /v1/models/spots/detect?\(query)", body, fields: fields)
            #expect(reply.status == status && reply.error.contains(words), "\(query): \(reply.text.prefix(300))")
        }
        let (body, fields) = Requests.form([source, source])
        let several = try await world.answer("POST /v1/models/spots/detect?blur=even", body, fields: fields + accept)
        #expect(several.status == 400 && several.error.contains("one picture"), "\(several.text.prefix(200))")
        let unknown = try await world.answer("POST /v1/models/means/embed?blur=even", source)
        #expect(unknown.status == 400 && unknown.error.contains("unknown query parameter"))
    }

    private static func rgb(_ file: [UInt8], _ width: Int, _ height: Int) throws -> [UInt8] {
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: width, height: height, cropAndScale: .scaleFill))
        var pixels = [UInt8](repeating: 0, count: width * height * 3)
        _ = try pixels.withUnsafeMutableBytes { target in
            try file.withUnsafeBytes { try pipeline.prepare($0, into: target) }
        }
        return pixels
    }

    // MARK: explain

    @Test("explain shows the input of a stage's model for a detection, and refuses wrong stages")
    func explain_ofAStage_isItsTensor() async throws {
        let world = try await Self.world()
        let source = try Self.png(200, 120)
        let npy = try await world.answer("POST /v1/models/looks/detect?explain=npy&stage=color&find=2", source)
        #expect(npy.status == 200 && npy["Content-Type"] == "application/x-npy", "\(npy.text.prefix(200))")
        let nested = try await world.answer("POST /v1/models/looks/detect?explain=png&stage=shade&find=1.0", source)
        #expect(nested.status == 200 && nested["Content-Type"] == "image/png", "\(nested.text.prefix(200))")
        for (query, words) in [
            ("explain=png&stage=nothing", "has no stage"), ("stage=color", "go with \"explain\""),
            ("explain=png&stage=color&find=99", "as many as there are finds"),
            ("explain=png&stage=color&find=-1", "the number of a find"),
            ("explain=png&stage=color&find=0.0", "level 1"),
        ] {
            let reply = try await world.answer("POST /v1/models/looks/detect?\(query)", source)
            #expect(reply.status == 400 && reply.error.contains(words), "\(query): \(reply.text.prefix(200))")
        }
        // With stages the detector's input is scaled from all pixels; without stages, from a smaller decode.
        let large = try [UInt8](
            Data(
                contentsOf: SharedData.packageRoot.appendingPathComponent(
                    "Tests/ImagePipelineTests/Fixtures/size-4000x3000.jpg")))
        for (model, scale) in [("spots", "1/8"), ("looks", "8/8")] {
            let reply = try await world.answer("POST /v1/models/\(model)/detect?explain=preprocess", large)
            let steps = reply.json["steps"] as? [[String: Any]] ?? []
            #expect(reply.status == 200 && steps.first?["scale"] as? String == scale, "\(steps)")
            #expect(steps.contains { $0["operation"] as? String == "resize" && $0["width"] as? Int == 32 })
        }
        let tiles = try await world.answer("POST /v1/models/tiled/detect?explain=png", source)
        #expect(tiles.status == 400 && tiles.error.contains("tiles"))
    }

    // MARK: Other routes

    @Test("a pipeline is listed with its stages, and the tensor routes refuse a pipeline")
    func pipeline_isListed_andHasNoTensors() async throws {
        let world = try await Self.world()
        let model = try await world.answer("GET /v1/models/looks").json
        let pipeline = model["pipeline"] as? [String: Any]
        let each = pipeline?["each"] as? [[String: Any]] ?? []
        #expect(model["state"] as? String == "ready" && model["tasks"] as? [String] == ["detect"])
        #expect(
            pipeline?["model"] as? String == "spots"
                && each.map { $0["as"] as? String } == ["color", "plain", "face", "parts"])
        #expect((each.last?["each"] as? [[String: Any]])?.first?["as"] as? String == "shade")
        for line in [
            "GET /v2/models/looks", "GET /v2/models/looks/config", "POST /v2/models/looks/infer",
            "POST /v1/models/looks/predict", "POST /v1/models/looks:predict", "POST /v1/models/looks/embed",
            "POST /v1/models/looks/classify",
        ] {
            let reply = try await world.answer(line, line.hasPrefix("GET") ? [] : Self.png(20, 20))
            #expect(reply.status == 400 && reply.error.contains("pipeline"), "\(line): \(reply.text.prefix(200))")
        }
        // Adding a pipeline changes no default.
        let reply = try await world.answer("POST /v1/detect", Self.png(20, 20))
        #expect(reply.json["model"] as? String == "many")
    }

    @Test("all mistakes of a pipeline are reported at once, each with its place")
    func wrongPipelines_areRefusedWithEveryReason() async throws {
        let world = try await Self.world(
            { _ in },
            [
                "unknown": #"{"model": "nobody", "each": [{"as": "a", "model": "neither", "task": "classify"}]}"#,
                "wrong": """
                {"model": "spots", "classes": ["even", "oddly"], "each": [
                  {"as": "a", "model": "colors", "task": "embed"}, {"as": "b", "model": "means", "task": "classify"},
                  {"as": "c", "model": "colors", "task": "classify", "top": 4, "classes": ["nobody"], "crop": {"mask": true}}]}
                """,
                "own": #"{"model": "own"}"#, "other": #"{"model": "looks"}"#,
                "first": #"{"model": "second"}"#, "second": #"{"model": "first"}"#,
                "points":
                    #"{"model": "many", "each": [{"as": "a", "model": "means", "task": "embed", "crop": {"align": "five_points"}}]}"#,
                "plain": #"{"model": "means"}"#,
            ])
        for (name, reasons) in [
            (
                "unknown",
                ["pipeline.model: unknown model \"nobody\"", "pipeline.each[0].model: unknown model \"neither\""]
            ),
            (
                "wrong",
                [
                    "pipeline.classes[1]: ", "pipeline.each[0].task: \"colors\" does not give an embedding",
                    "pipeline.each[1].task: \"means\" does not classify", "pipeline.each[2].top: expected 1 to 3",
                    "pipeline.each[2].classes[0]: ", "pipeline.each[2].crop.mask: ",
                ]
            ),
            ("own", ["is the pipeline itself"]), ("other", ["is a pipeline itself"]),
            ("first", ["is a pipeline itself"]), ("second", ["is a pipeline itself"]),
            ("points", ["pipeline.each[0].crop.align: "]), ("plain", ["does not give boxes"]),
        ] {
            let model = try await world.answer("GET /v1/models/\(name)").json
            #expect(model["state"] as? String == "failed")
            for reason in reasons {
                #expect((model["reason"] as? String)?.contains(reason) == true, "\(name): \(model["reason"] ?? "")")
            }
            let reply = try await world.answer("POST /v1/models/\(name)/detect", Self.png(20, 20))
            #expect(reply.status == 503 && reply.json["code"] as? String == "model_not_ready")
        }
    }

    // MARK: Reloads

    @Test("a pipeline is replaced and unloaded together with its models")
    func models_ofAPipeline_areReplacedTogether() async throws {
        let world = try await Self.world()
        let before = try await world.repository.model(named: "looks")
        let detector = try await world.repository.model(named: "spots")
        #expect(before.pipeline?.detector === detector)
        try await world.repository.reload("spots")
        let after = try await world.repository.model(named: "looks")
        #expect(after !== before && after.pipeline?.detector !== detector)
        #expect(after.pipeline?.detector === (try await world.repository.model(named: "spots")))
        // Holders of the old pipeline keep its models.
        #expect(before.pipeline?.detector === detector)
        // Other pipelines with the model are replaced too; the rest stay.
        let mass = try await world.repository.model(named: "mass")
        try await world.repository.reload("means")
        #expect(try await world.repository.model(named: "mass") === mass)
        #expect(try await world.repository.model(named: "looks") !== after)

        try world.repository.unload("spots")
        let reply = try await world.answer("POST /v1/models/looks/detect", Self.png(20, 20))
        #expect(reply.status == 503 && reply.json["code"] as? String == "model_not_ready", "\(reply.text)")
        try await world.repository.reload("spots")
        let again = try await world.answer("POST /v1/models/looks/detect", Self.png(20, 20))
        #expect(again.status == 200, "\(again.text.prefix(300))")
    }

    @Test("a pipeline that does not fit its changed models keeps the earlier models")
    func pipeline_thatNoLongerFits_keepsItsModels() async throws {
        let world = try await Self.world()
        let file = world.folder.appendingPathComponent("spots/labels.txt")
        try "even\nother\n".write(to: file, atomically: true, encoding: .utf8)
        await world.repository.reloadAll()
        let spots = detections(try await world.answer("POST /v1/models/spots/detect", Self.png(20, 20)))
        #expect(Set(spots.compactMap { $0["label"] as? String }) == ["even", "other"])
        // "odd" is a class of its stage.
        let looks = try await world.answer("POST /v1/models/looks/detect", Self.png(20, 20))
        #expect(looks.status == 200 && Set(detections(looks).compactMap { $0["label"] as? String }) == ["even", "odd"])
        let model = try await world.answer("GET /v1/models/looks").json
        let versions = model["versions"] as? [[String: Any]]
        #expect((versions?.first?["stale"] as? String)?.contains("odd") == true, "\(model)")
        // The pipeline without classes uses the changed model.
        let all = detections(try await world.answer("POST /v1/models/all/detect", Self.png(20, 20)))
        #expect(Set(all.compactMap { $0["label"] as? String }) == ["even", "other"])
    }

    @Test("requests during reloads are all answered completely")
    func requestsDuringReloads_seeOneVersion() async throws {
        let world = try await Self.world()
        let picture = try Self.png(40, 40)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    for _ in 0..<15 {
                        let reply = try? await world.answer("POST /v1/models/all/detect", picture)
                        #expect(reply?.status == 200, "\(reply?.text.prefix(200) ?? "")")
                        let looked = (reply?.json["detections"] as? [[String: Any]])?.count { $0["color"] != nil }
                        #expect(looked == 64)
                    }
                }
            }
            for name in ["spots", "colors", "all", "spots"] { try? await world.repository.reload(name) }
        }
        #expect(DecodeBudget.shared.usage.used == 0)
    }
}
