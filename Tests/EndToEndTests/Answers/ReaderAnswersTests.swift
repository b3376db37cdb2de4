import Foundation
import TestSupport
import Testing

/// Readers of text by the real daemon and the commands: pages in the script of
/// `Tests/FixtureMakers/make-reader-fixtures`, with the text and the places that they were drawn with.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized) struct ReaderAnswersTests {
    static let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/readers")
    static let models = fixtures.appendingPathComponent("models").path

    static func picture(_ name: String) -> URL { fixtures.appendingPathComponent("pictures/\(name)") }

    private struct Drawn: Decodable {
        let width: Int, height: Int
        let text: String
        let lines: [Line]?

        struct Line: Decodable {
            let text: String
            let points: [Point]
        }

        struct Point: Decodable { let x: Double, y: Double }
    }

    private static let drawn: [String: Drawn] = {
        let data = (try? Data(contentsOf: fixtures.appendingPathComponent("expected.json"))) ?? Data()
        return (try? JSONDecoder().decode([String: Drawn].self, from: data)) ?? [:]
    }()

    /// The farthest that a corner may be from the drawn one, in pixels: half a pixel of the detector's input on each
    /// side of the bar, which growing enlarges, and the rounding of corners to pixels.
    private static let tolerance = 3.5

    /// Compares code points: an accent may be a code point of its own.
    private func equal(_ text: Any?, _ other: String) -> Bool {
        (text as? String).map { Array($0.unicodeScalars) == Array(other.unicodeScalars) } ?? false
    }

    private func points(_ value: Any?) -> [(x: Double, y: Double)] {
        (value as? [[String: Double]] ?? []).map { ($0["x"] ?? .nan, $0["y"] ?? .nan) }
    }

    // MARK: Pages

    private static let pages = [
        "page.png", "skewed.png", "one_down.png", "turned90.png", "turned180.png", "turned270.png", "exif6.jpg",
        "empty.png",
    ]

    @Test(
        "the text of a page is as drawn, at any skew, turn and orientation, with each line's corners from where it begins"
    )
    func textIsAsDrawn() throws {
        let daemon = try Daemon(["--models", Self.models, "--default-model", "bars"])
        for name in Self.pages { try check(name, daemon) }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    private func check(_ name: String, _ daemon: Daemon) throws {
        let answer = try Curl.post(Self.picture(name), to: daemon.url + "/v1/read")
        let drawn = try #require(Self.drawn[name])
        #expect(answer.status == 200 && answer.json["model"] as? String == "bars", "\(name): \(answer.text)")
        #expect(equal(answer.json["text"], drawn.text), "\(name): \(answer.json["text"] ?? "")")
        let lines = answer.json["lines"] as? [[String: Any]] ?? [], expected = drawn.lines ?? []
        #expect(lines.count == expected.count)
        for (line, other) in zip(lines, expected) {
            #expect(equal(line["text"], other.text), "\(line)")
            #expect((0.5...1).contains(line["confidence"] as? Double ?? 0), "\(line)")
            let corners = points(line["points"])
            #expect(corners.count == 4)
            for (corner, place) in zip(corners, other.points) {
                let distance = hypot(corner.x - place.x, corner.y - place.y)
                #expect(distance < Self.tolerance, "\(name), \(other.text): \(corner), drawn at \(place)")
            }
            let box = line["box"] as? [String: Double] ?? [:]
            let (x, y) = (corners.map(\.x), corners.map(\.y))
            for (name, value) in [
                ("x", x.min()), ("y", y.min()), ("width", (x.max() ?? 0) - (x.min() ?? 0)),
                ("height", (y.max() ?? 0) - (y.min() ?? 0)),
            ] { #expect(abs((box[name] ?? .nan) - (value ?? 0)) < 0.0021, "\(name) of \(line)") }
            #expect(line["characters"] == nil)
        }
        let displayed = (answer.json["image"] as? [String: Any])?["displayed"] as? [String: Int]
        #expect(displayed?["width"] == drawn.width && displayed?["height"] == drawn.height)
        let stages = (answer.json["timing_ms"] as? [String: Any])?["stages"] as? [String: Double] ?? [:]
        #expect(stages["find"] ?? 0 > 0)
        #expect(expected.isEmpty || stages["turn"] ?? 0 > 0 && stages["read"] ?? 0 > 0, "\(stages)")
        #expect(answer.headers["server-timing"]?.contains("stage.find;dur=") == true)
    }

    @Test("query parameters choose lines by confidence, score and number, and list their characters")
    func queryParametersChooseLines() throws {
        let daemon = try Daemon(["--models", Self.models])
        let url = daemon.url + "/v1/models/bars/read?", page = Self.picture("page.png")
        let whole = try Curl.post(page, to: url + "characters=true")
        let lines = whole.json["lines"] as? [[String: Any]] ?? []
        #expect(lines.count == 5, "\(whole.text)")
        for line in lines {
            let characters = line["characters"] as? [[String: Any]] ?? []
            #expect(equal(line["text"], characters.map { $0["text"] as? String ?? "" }.joined()), "\(line)")
            let mean =
                characters.reduce(0) { $0 + ($1["confidence"] as? Double ?? 0) } / Double(max(1, characters.count))
            #expect(abs(mean - (line["confidence"] as? Double ?? -1)) < 1e-5)
            // In upright lines they follow each other, within the line.
            let corners = points(line["points"]), lefts = characters.map { points($0["points"]).first?.x ?? .nan }
            #expect(lefts == lefts.sorted() && (lefts.first ?? 0) >= corners[0].x - 0.01, "\(lefts)")
            #expect(characters.allSatisfy { points($0["points"]).count == 4 })
        }
        // "e" and its accent are one entry of the dictionary.
        let accented = lines.first { ($0["text"] as? String)?.hasPrefix("CAB") == true }
        #expect((accented?["characters"] as? [Any])?.count == 4)
        for (query, count) in [("threshold=1", 0), ("find_threshold=1", 0), ("top=2", 2), ("threshold=0", 5)] {
            let answer = try Curl.post(page, to: url + query)
            #expect((answer.json["lines"] as? [Any])?.count == count, "\(query): \(answer.text)")
            #expect(answer.json["skipped"] == nil)
        }
        #expect(
            try Curl.post(page, to: url + "characters=false").json["text"] as? String == whole.json["text"] as? String)
        // The picture stands on its head for the daemon, which reads it all the same.
        let down = try Curl.post(page, to: url + "orientation=3")
        #expect(down.json["text"] as? String == whole.json["text"] as? String)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// Paths, and words of the refusals.
    private static let refusals: [(path: String, words: String)] = [
        ("models/bars/read?crop=fit", "crop"), ("models/bars/read?iou=0.5", "iou"),
        ("models/bars/read?classes=1", "classes"), ("models/bars/read?characters=yes", "true or false"),
        ("models/bars/read?find_threshold=2", "a number from 0 to 1"), ("models/bars/read?top=0", "top"),
        ("models/bars/read?stage=read", "explain=png"), ("models/bars/read?line=1", "explain=png"),
        ("models/bars/read?explain=png&stage=turned", "\"find\", \"turn\", \"read\""),
        ("models/bars/read?explain=png&line=0", "stage=read"),
        ("models/bars/read?explain=png&stage=read&line=-1", "from 0"),
        ("models/bars/read?explain=png&stage=read&line=5", "line"),
        ("models/line/read?find_threshold=0.5", "recognizer without a detector"),
        ("models/line/read?explain=png&stage=find", "has no part \"find\""),
        ("models/bars/predict", "is a reader of text"), ("models/bars/detect", "answers /read"),
        ("models/halves/read", "does not give text"), ("models/plates/read", "answers /detect"),
    ]

    @Test("a request that a reader cannot answer is refused with a sentence that tells what to do")
    func requestsAreRefused() throws {
        let daemon = try Daemon(["--models", Self.models])
        for (path, words) in Self.refusals {
            let answer = try Curl.post(Self.picture("page.png"), to: daemon.url + "/v1/" + path)
            #expect(answer.status == 400 && answer.error.contains(words), "\(path): \(answer.text)")
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("without a reader /v1/read is 404 and says how to get one; /v2 refuses a reader")
    func withoutAReader() throws {
        let daemon = try Daemon()
        let answer = try Curl.post(Self.picture("page.png"), to: daemon.url + "/v1/read")
        #expect(answer.status == 404 && answer.code == "model_not_found", "\(answer.text)")
        for words in ["a reader is a text detector, a recognizer", "RapidOCR", "docs/model-json.md"] {
            #expect(answer.error.contains(words), "\(answer.error)")
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
        let other = try Daemon(["--models", Self.models])
        let metadata = try Curl.run(other.url + "/v2/models/bars")
        #expect(metadata.status == 400 && metadata.error.contains("/v1/models/bars/read"), "\(metadata.text)")
        #expect(other.stop() == 0, "\(other.log)")
    }

    @Test("`explain` shows the inputs of the detector, of the classifier of direction and of the recognizer")
    func explainShowsEachPartsInput() throws {
        let daemon = try Daemon(["--models", Self.models])
        let url = daemon.url + "/v1/models/bars/read?explain="
        func shape(_ query: String) throws -> [Int] {
            let answer = try Curl.post(Self.picture("page.png"), to: url + "preprocess" + query)
            #expect(answer.status == 200, "\(answer.text.prefix(300))")
            return (answer.json["tensor"] as? [String: Any])?["shape"] as? [Int] ?? []
        }
        let whole = try shape("")
        // The shorter side, 400, becomes 736; the longer one, 600, a multiple of 32 near 1,104.
        #expect(whole.prefix(3) == [1, 3, 736] && abs((whole.last ?? 0) - 1_104) <= 32, "\(whole)")
        #expect(try shape("&stage=find") == whole)
        #expect(try shape("&stage=turn&line=2") == [1, 3, 48, 192])
        let line = try shape("&stage=read&line=2")
        #expect(line.prefix(3) == [1, 3, 48] && (line.last ?? 0) >= 320, "\(line)")
        #expect(try shape("&stage=read").prefix(3) == [1, 3, 48])
        let png = try Curl.post(Self.picture("page.png"), to: url + "png&stage=read&line=1")
        #expect(png.headers["content-type"] == "image/png" && png.body.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    // MARK: Forms, shared answers, listing, metrics

    @Test("several pictures of a form have an answer each, and one that is broken does not lose the others")
    func severalPictures() throws {
        let daemon = try Daemon(["--models", Self.models])
        let parts = ["page.png", "empty.png"].flatMap { ["-F", "image=@" + Self.picture($0).path] }
        let answer = try Curl.run(
            daemon.url + "/v1/models/bars/read", parts + ["-F", "image=no picture;filename=x.png", "-F", "top=1"])
        let results = answer.json["results"] as? [[String: Any]] ?? []
        #expect(answer.status == 200 && results.count == 3, "\(answer.text)")
        #expect(results.map { ($0["lines"] as? [Any])?.count } == [1, 0, nil])
        #expect(results.last?["code"] is String, "\(results)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("answers of read are kept by their whole query: with and without characters they are two")
    func keptAnswersDependOnTheQuery() throws {
        let daemon = try Daemon(["--models", Self.models, "--answer-cache", "1MB"])
        let url = daemon.url + "/v1/models/bars/read", page = Self.picture("page.png")
        func ask(_ query: String) throws -> (status: String?, text: String) {
            let answer = try Curl.post(page, to: url + query)
            return (answer.headers["cache-status"], answer.text)
        }
        for query in ["", "?characters=true", "?find_threshold=0.25", "?threshold=0.25", "?top=1"] {
            #expect(try ask(query).status == "ocelli; fwd=miss", "\(query)")
        }
        #expect(try ask("").status == "ocelli; hit" && !ask("").text.contains("characters"))
        #expect(
            try ask("?characters=true").status == "ocelli; hit" && ask("?characters=true").text.contains("characters"))
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("a reader is one model in the listing, with its networks; metrics count its lines and its stages")
    func listingAndMetrics() throws {
        let daemon = try Daemon(["--models", Self.models, "--max-lines", "3"])
        let answer = try Curl.post(Self.picture("page.png"), to: daemon.url + "/v1/models/bars/read")
        #expect((answer.json["lines"] as? [Any])?.count == 3 && answer.json["skipped"] as? Int == 2, "\(answer.text)")
        let model = try Curl.run(daemon.url + "/v1/models/bars").json
        #expect(model["task"] as? String == "read" && model["tasks"] as? [String] == ["read"])
        #expect((model["metadata"] as? [String: Any])?["backend"] as? String == "reader")
        let parts = model["reader"] as? [String: [String: Any]] ?? [:]
        #expect(Set(parts.keys) == ["find", "turn", "read"])
        #expect(parts["read"]?["file"] as? String == "bars_rec.onnx", "\(parts)")
        let listed = try Curl.run(daemon.url + "/v1/models").json["models"] as? [[String: Any]] ?? []
        #expect(listed.compactMap { $0["name"] as? String } == ["bars", "halves", "line", "plates", "slips"])
        let metrics = try Curl.run(daemon.url + "/metrics").text
        for line in [
            "ocelli_lines_total{model=\"bars\"} 3", "ocelli_lines_skipped_total{model=\"bars\"} 2",
            "ocelli_reader_stage_duration_seconds_count{model=\"bars\",stage=\"find\"} 1",
            "ocelli_reader_stage_duration_seconds_count{model=\"bars\",stage=\"turn\"} 1",
            "ocelli_reader_stage_duration_seconds_count{model=\"bars\",stage=\"read\"} 1",
        ] { #expect(metrics.contains(line + "\n"), "\(line)") }
        let document = try Curl.run(daemon.url + "/v1/models/bars/openapi.json").json
        let paths = Set((document["paths"] as? [String: Any] ?? [:]).keys)
        #expect(paths.contains("/v1/models/bars/read") && !paths.contains("/v1/models/bars/predict"), "\(paths)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    // MARK: Recognizers, pipelines

    @Test("a recognizer without a detector reads the picture as one line, with the picture's corners")
    func recognizerReadsOneLine() throws {
        let daemon = try Daemon(["--models", Self.models])
        let answer = try Curl.post(Self.picture("strip.png"), to: daemon.url + "/v1/models/line/read?characters=true")
        let drawn = try #require(Self.drawn["strip.png"])
        #expect(equal(answer.json["text"], drawn.text), "\(answer.text)")
        let lines = answer.json["lines"] as? [[String: Any]] ?? []
        #expect(lines.count == 1)
        let corners = points(lines.first?["points"]).map { [$0.x, $0.y] }
        #expect(corners == [[0, 0], [300, 0], [300, 48], [0, 48]], "\(corners)")
        #expect((lines.first?["characters"] as? [Any])?.count == 5)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test(
        "a stage that reads gives each find its text and its lines, in pixels of the picture",
        arguments: ["plates", "slips"])
    func stagesReadTheFinds(_ pipeline: String) throws {
        let daemon = try Daemon(["--models", Self.models])
        let answer = try Curl.post(Self.picture("double.png"), to: daemon.url + "/v1/models/\(pipeline)/detect")
        let found = answer.json["detections"] as? [[String: Any]] ?? []
        let drawn = try #require(Self.drawn["double.png"])
        let rows = drawn.text.split(separator: "\n").map(String.init)
        #expect(answer.status == 200 && found.count == 2, "\(answer.text)")
        for (index, one) in found.enumerated() where index < rows.count {
            let words = one["words"] as? [String: Any] ?? [:]
            #expect(Set(words.keys) == ["text", "lines"] && equal(words["text"], rows[index]), "\(words)")
            // The lower half begins at row 48.
            let y = points((words["lines"] as? [[String: Any]])?.first?["points"]).map(\.y)
            #expect(y.allSatisfy { ($0 >= 47.9) == (index == 1) || $0 == 48 }, "\(y)")
        }
        let stages = (answer.json["timing_ms"] as? [String: Any])?["stages"] as? [String: Double] ?? [:]
        #expect(stages["words"] ?? 0 > 0, "\(stages)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    // MARK: Commands

    private func ocelli(_ arguments: [String], in folder: URL? = nil) throws -> Shell.Result {
        try Shell.run(
            Daemon.binary.path, arguments, environment: ["XDG_CACHE_HOME": Daemon.cache.path], directory: folder)
    }

    private func inTemporaryFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-read-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    @Test(
        "`ocelli read` prints the text of one picture alone, several with their names, and as JSON what the daemon answers"
    )
    func theCommandPrintsTheText() throws {
        let drawn = try #require(Self.drawn["page.png"]), page = Self.picture("page.png").path
        let one = try ocelli(["read", "--model", Self.models + "/bars", page])
        #expect(one.status == 0 && equal(one.text, drawn.text + "\n"), "\(one.text)\(one.errors)")
        let empty = Self.picture("empty.png").path
        let two = try ocelli(["read", "--models", Self.models, page, empty])
        #expect(
            two.text.contains("page.png") && two.text.contains("  AB C\n") && two.text.contains("(no text)"),
            "\(two.text)")
        let json = try ocelli(["read", "--models", Self.models, "--json", "--characters", page])
        let daemon = try Daemon(["--models", Self.models])
        let answer = try Curl.post(Self.picture("page.png"), to: daemon.url + "/v1/read?characters=true")
        #expect(json.json["lines"] as? NSArray == answer.json["lines"] as? NSArray, "\(json.text)\(json.errors)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
        let wrong = try ocelli(["read", "--model", Self.models + "/halves", page])
        #expect(wrong.status != 0 && wrong.errors.contains("does not read text; it answers detect"), "\(wrong.errors)")
        let alone = try ocelli(["read", "--model", Self.models + "/line", "--find-threshold", "0.3", page])
        #expect(alone.status != 0 && alone.errors.contains("recognizer without a detector"), "\(alone.errors)")
        let none = try ocelli(["read", "--models", "models", page], in: SharedData.packageRoot)
        #expect(none.status != 0 && none.errors.contains("no model that reads text"), "\(none.errors)")
        let crop = try ocelli(["read", "--models", Self.models, "--crop", "fit", page])
        #expect(crop.status == 2, "\(crop.errors)")
    }

    @Test(
        "`read --draw` draws on a picture that another process decodes",
        .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
    func drawsOnConfinedPictures() throws {
        let file = try #require(SharedData.folder).appendingPathComponent("pictures/heic/grid_iphone.heic")
        try inTemporaryFolder { folder in
            let result = try ocelli(["read", "--models", Self.models, "--draw", folder.path, file.path])
            #expect(result.status == 0, "\(result.errors)")
            let png = try [UInt8](Data(contentsOf: folder.appendingPathComponent("grid_iphone.heic.png")))
            // IHDR: the width and the height, upright.
            try #require(png.count > 24)
            #expect(png[16..<24] == [0, 0, 0, 180, 0, 0, 0, 240])
        }
    }

    @Test("`read --draw` draws the sides of each line, and `read --jsonl` writes a line for each picture, once")
    func drawnPicturesAndLines() throws {
        try inTemporaryFolder { folder in
            let drawn = folder.appendingPathComponent("drawn")
            let result = try ocelli([
                "read", "--models", Self.models, "--draw", drawn.path, Self.picture("page.png").path,
            ])
            #expect(result.status == 0, "\(result.errors)")
            let png = try Data(contentsOf: drawn.appendingPathComponent("page.png.png"))
            #expect(try png != Data(contentsOf: Self.picture("page.png")) && png.count > 1_000)
            let pictures = Self.fixtures.appendingPathComponent("pictures").path
            let arguments = ["read", "--jsonl", "--resume", "answers.jsonl", "--models", Self.models, pictures]
            for round in 0..<2 {
                let bulk = try ocelli(arguments, in: folder)
                #expect(bulk.status == 0, "\(bulk.errors)")
                let file = try String(contentsOf: folder.appendingPathComponent("answers.jsonl"), encoding: .utf8)
                let lines = try file.split(separator: "\n").map {
                    try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
                }
                #expect(lines.count == Self.drawn.count, "round \(round)")
                for line in lines {
                    let name = URL(fileURLWithPath: line["file"] as? String ?? "").lastPathComponent
                    guard name != "strip.png", let page = Self.drawn[name] else { continue }
                    #expect(equal(line["text"], page.text), "\(name)")
                }
            }
            for more in [["--characters"], ["--find-threshold", "0.4"], ["--max-lines", "2"]] {
                #expect(try ocelli(arguments + more, in: folder).status == 2, "\(more)")
            }
        }
    }

    @Test("`ocelli check` shows the parts of a reader, compares its goldens, and `ocelli compare` compares texts")
    func checkGoldensAndCompare() throws {
        try inTemporaryFolder { folder in
            let bundle = folder.appendingPathComponent("pages"), golden = bundle.appendingPathComponent("golden")
            try FileManager.default.copyItem(
                at: URL(fileURLWithPath: Self.models).appendingPathComponent("bars"), to: bundle)
            try FileManager.default.createDirectory(at: golden, withIntermediateDirectories: true)
            for name in ["page.png", "skewed.png"] {
                try FileManager.default.copyItem(at: Self.picture(name), to: golden.appendingPathComponent(name))
            }
            let recorded = try ocelli(["read", "--model", bundle.path, "--jsonl", golden.path])
            #expect(recorded.status == 0, "\(recorded.errors)")
            let expected = golden.appendingPathComponent("expected.jsonl")
            try recorded.text.write(to: expected, atomically: true, encoding: .utf8)
            let good = try ocelli(["check", bundle.path])
            #expect(good.status == 0 && good.text.contains("2 of 2 goldens agree"), "\(good.text)\(good.errors)")
            for words in ["find by ", "turn by ", "read by ", "answers to read"] {
                #expect(good.text.contains(words), "\(good.text)")
            }
            // Pages and lines have any size, for which OpenVINO keeps more memory.
            #expect(good.text.contains(/find by [^\n]*the format's own runtime/), "\(good.text)")
            #expect(good.text.contains(/turn by [^\n]*the format's own runtime/), "\(good.text)")
            #expect(good.text.contains(/read by [^\n]*the format's own runtime/), "\(good.text)")
            let json = try ocelli(["check", "--json", bundle.path])
            #expect((json.json["reader"] as? [String: Any])?["read"] != nil, "\(json.text)")
            try recorded.text.replacing("AB C", with: "AB A").write(to: expected, atomically: true, encoding: .utf8)
            let bad = try ocelli(["check", bundle.path])
            #expect(bad.status == 1 && (bad.text + bad.errors).contains("goldens differ"), "\(bad.text)\(bad.errors)")
            try FileManager.default.removeItem(at: expected)
            let same = try ocelli(["compare", Self.models + "/bars", bundle.path, golden.path, "--json"])
            #expect(same.status == 0 && same.json["agreed"] as? Int == 2, "\(same.text)\(same.errors)")
        }
    }
}
