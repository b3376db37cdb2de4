import Foundation
import ImagePipeline
import TestSupport
import Testing

/// The heads that Ultralytics exports, from folders without a model.json: `Tests/Fixtures/ultralytics`, made by
/// `Tests/FixtureMakers/make-ultralytics-fixtures`, and those of the shared data.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct UltralyticsHeadsTests {
    private static let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/ultralytics")

    private static func cases() throws -> [(name: String, one: [String: Any])] {
        let text = try Data(contentsOf: folder.appendingPathComponent("expected.json"))
        let all = try #require(try JSONSerialization.jsonObject(with: text) as? [String: [String: Any]])
        return all.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    @Test("each head is served without model.json, and answers as NumPy computes it")
    func everyHeadAnswersAsItSays() throws {
        let daemon = try Daemon(["--models", Self.folder.path])
        for (name, one) in try Self.cases() { try check(one, of: name, daemon) }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("the model.json that `ocelli init` writes for each head gives the same answers, and `check` finds no fault")
    func initWritesEachHead() throws {
        let models = FileManager.default.temporaryDirectory.appendingPathComponent("heads-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: models) }
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        for (name, _) in try Self.cases() {
            let folder = models.appendingPathComponent(name)
            try FileManager.default.copyItem(at: Self.folder.appendingPathComponent(name), to: folder)
            let made = try Shell.run(Daemon.binary.path, ["init", folder.appendingPathComponent("model.onnx").path])
            #expect(made.status == 0, "\(name): \(made.errors)")
            let text = try String(contentsOf: folder.appendingPathComponent("model.json"), encoding: .utf8)
            #expect(!text.contains("$decide"), "\(name): \(text)")
            let checked = try Shell.run(
                Daemon.binary.path, ["check", folder.path], environment: ["XDG_CACHE_HOME": Daemon.cache.path])
            #expect(checked.status == 0, "\(name): \(checked.text)\(checked.errors)")
        }
        let daemon = try Daemon(["--models", models.path])
        for (name, one) in try Self.cases() { try check(one, of: name, daemon) }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test(
        "the page draws the sides of turned boxes, and shows a depth map with its range",
        .enabled(if: PageTests.chromium != nil, "Chromium is not installed (apt install chromium)"))
    func thePageDrawsTurnedBoxesAndDepth() throws {
        let daemon = try Daemon(["--models", Self.folder.path])
        defer { daemon.stop() }
        let result = try Shell.run(
            SharedData.packageRoot.appendingPathComponent("Tests/Tools/browse-heads").path,
            [
                try #require(PageTests.chromium), daemon.url + "/", Self.folder.appendingPathComponent("wide.png").path,
            ])
        #expect(result.status == 0, "\(result.text)\(result.errors)")
    }

    private func check(_ one: [String: Any], of name: String, _ daemon: Daemon) throws {
        let route = try #require(one["route"] as? String), answers = try #require(one["answers"] as? [String: [Any]])
        for (picture, expected) in answers.sorted(by: { $0.key < $1.key }) {
            let file = Self.folder.appendingPathComponent(picture)
            let mask = route == "segment" ? "mask=rle" : ""
            let url = daemon.url + "/v1/models/\(name)/\(route)?" + (one["query"] as? String ?? "") + mask
            let answer = try Curl.post(file, to: url)
            #expect(answer.status == 200, "\(name): \(answer.text.prefix(400))")
            switch route {
            case "detect":
                let found = try #require(answer.json["detections"] as? [[String: Any]])
                try compare(found, try #require(expected as? [[String: Any]]), pixels: 0.01, "\(name), \(picture)")
            case "segment":
                let rows = try #require(expected as? [[Int]])
                #expect(try Self.classes(answer) == rows, "\(name), \(picture)")
                let labels = (answer.json["segments"] as? [[String: Any]] ?? []).compactMap { $0["label"] as? String }
                let known = name.contains("one") ? ["background", "road"] : ["bird", "cat", "dog"]
                #expect(labels.sorted() == known, "\(name)")
            default:
                let rows = try #require(expected as? [[Double]])
                let (minimum, maximum) = (rows.joined().min() ?? 0, rows.joined().max() ?? 0)
                let map = try #require((answer.json["outputs"] as? [String: [String: Any]])?["output0"])
                // The range is that of the model's map, of which the picture may miss the extremes.
                #expect(map["min"] as? Double ?? .infinity <= minimum + 1e-4)
                #expect(map["max"] as? Double ?? -.infinity >= maximum - 1e-4)
                try Self.compare(try Self.floats(daemon, name, file), rows.flatMap { $0 }, within: 1e-4, name)
                let png = try Curl.post(file, to: url, ["-H", "Accept: image/png"])
                #expect(png.headers["content-type"] == "image/png" && png.headers["vary"] == "Accept")
                #expect(png.body == Data(base64Encoded: try #require(map["b64"] as? String)))
                #expect(Array(png.body[16..<26]) == Self.header(width: rows[0].count, height: rows.count))
            }
        }
    }

    /// Width, height, 16 bits, gray.
    private static func header(width: Int, height: Int) -> [UInt8] {
        [0, 0, 0, UInt8(width), 0, 0, 0, UInt8(height), 16, 0]
    }

    private static func floats(_ daemon: Daemon, _ name: String, _ file: URL) throws -> [Float] {
        let answer = try Curl.post(
            file, to: daemon.url + "/v1/models/\(name)/predict", ["-H", "Accept: application/octet-stream"])
        #expect(answer.headers["content-type"] == "application/octet-stream", "\(answer.text.prefix(300))")
        return numbers(answer.body)
    }

    private static func numbers(_ bytes: Data) -> [Float] {
        let bytes = [UInt8](bytes)
        return stride(from: 0, to: bytes.count - 3, by: 4).map { place in
            Float(bitPattern: (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[place + $1]) << UInt32(8 * $1) })
        }
    }

    private static func compare(_ found: [Float], _ expected: [Double], within tolerance: Double, _ name: String) throws
    {
        try #require(found.count == expected.count, "\(name)")
        let worst = zip(found, expected).map { abs(Double($0) - $1) }.max() ?? 0
        #expect(worst <= tolerance, "\(name): \(worst)")
    }

    /// The class of each pixel, from the run lengths of all segments.
    private static func classes(_ answer: Answer) throws -> [[Int]] {
        var rows: [[Int]] = []
        for segment in try #require(answer.json["segments"] as? [[String: Any]]) {
            let index = try #require(segment["index"] as? Int), mask = try #require(segment["mask"] as? [String: Any])
            let size = try #require(mask["size"] as? [Int])
            if rows.isEmpty { rows = [[Int]](repeating: [Int](repeating: -1, count: size[1]), count: size[0]) }
            var place = 0
            for (number, run) in ObservationsTests.runs(try #require(mask["counts"] as? String)).enumerated() {
                if number % 2 == 1 {
                    for pixel in place..<place + run { rows[pixel % size[0]][pixel / size[0]] = index }
                }
                place += run
            }
        }
        return rows
    }

    private func compare(
        _ found: [[String: Any]], _ expected: [[String: Any]], pixels: Double, angle: Double = 0.01 * .pi / 180,
        confidence: Double = 1e-4, _ name: String
    ) throws {
        try #require(found.count == expected.count, "\(name)")
        for (one, wanted) in zip(found, expected) {
            #expect(
                one["index"] as? Int == wanted["index"] as? Int && one["label"] as? String == wanted["label"] as? String
            )
            let scores = [one, wanted].compactMap { $0["confidence"] as? Double }
            #expect(scores.count == 2 && abs(scores[0] - scores[1]) <= confidence, "\(name)")
            let box = try #require(one["box"] as? [String: Double]),
                side = try #require(wanted["box"] as? [String: Double])
            for key in ["x", "y", "width", "height"] {
                let difference = abs((box[key] ?? .infinity) - (side[key] ?? 0))
                #expect(difference <= pixels, "\(name): \(key) of \(one), expected \(wanted)")
            }
            if let points = wanted["keypoints"] as? [[Double]] {
                let own = try #require(one["keypoints"] as? [[String: Any]])
                let places = own.map { one in ["x", "y"].compactMap { one[$0] as? Double } }
                let differences = zip(places.joined(), points.joined()).map { abs($0 - $1) }
                #expect(differences.count == 2 * points.count && (differences.max() ?? 1) <= 0.01, "\(name): \(places)")
            }
            guard let turn = wanted["angle"] as? Double else {
                #expect(one["angle"] == nil && one["points"] == nil)
                continue
            }
            #expect(abs((one["angle"] as? Double ?? 99) - turn) <= angle, "\(name)")
            let corners = try #require(one["points"] as? [[String: Double]])
            for (corner, point) in zip(corners, try #require(wanted["points"] as? [[String: Double]])) {
                for key in ["x", "y"] { #expect(abs((corner[key] ?? -99) - (point[key] ?? 99)) <= pixels, "\(name)") }
            }
            #expect(corners.count == 4)
        }
    }

    /// The picture is white, and red where one turned box lies: upright boxes of it would have white corners.
    @Test("a pipeline's crop with \"align\": \"box\" shows the turned box alone, upright")
    func turnedCropsAreUpright() throws {
        let models = FileManager.default.temporaryDirectory.appendingPathComponent("turned-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: models) }
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures")
        for name in ["ultralytics/obb", "pipelines/means"] {
            let source = fixtures.appendingPathComponent(name)
            try FileManager.default.copyItem(
                at: source, to: models.appendingPathComponent(source.lastPathComponent))
        }
        func pipeline(_ name: String, _ crop: String) throws {
            let folder = models.appendingPathComponent(name)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let stage = #"{"as": "mean", "model": "means", "task": "embed", "crop": \#(crop)}"#
            try Data(
                #"{"name": "\#(name)", "id": "\#(name)", "version": "1", "pipeline": {"model": "obb", "each": [\#(stage)]}}"#
                    .utf8
            ).write(to: folder.appendingPathComponent("model.json"))
        }
        try pipeline("upright", #"{"align": "box"}"#)
        try pipeline("around", "{}")
        let daemon = try Daemon(["--models", models.path])
        defer { daemon.stop() }
        // Ten times wide.png.
        let blank = try Pixels.png(width: 300, height: 200) { _, _ in true }
        func finds(_ picture: Data, _ model: String) throws -> [[String: Any]] {
            let answer = try Curl.run(
                daemon.url + "/v1/models/\(model)/detect?threshold=0.25&iou=0.45",
                ["-H", "Content-Type: image/png", "--data-binary", "@-"], input: picture)
            return try #require(answer.json["detections"] as? [[String: Any]], "\(answer.text.prefix(300))")
        }
        let all = try finds(blank, "obb")
        // One inside the picture that is far from upright.
        let number = try #require(
            all.firstIndex { one in
                let points = one["points"] as? [[String: Double]] ?? [], angle = abs(one["angle"] as? Double ?? 0)
                return angle > 0.3 && angle < 1.2
                    && points.allSatisfy { 0...300 ~= $0["x"] ?? -1 && 0...200 ~= $0["y"] ?? -1 }
            })
        let corners = try #require(all[number]["points"] as? [[String: Double]])
        let painted = try Pixels.png(width: 300, height: 200) { x, y in
            // White outside: on the outer side of one of the sides.
            corners.indices.contains { index in
                let (a, b) = (corners[index], corners[(index + 1) % 4])
                let (ax, ay) = (a["x"] ?? 0, a["y"] ?? 0)
                return ((b["x"] ?? 0) - ax) * (y - ay) - ((b["y"] ?? 0) - ay) * (x - ax) < 0
            }
        }
        func white(_ model: String) throws -> Double {
            let mean = try finds(painted, model)[number]["mean"] as? [String: Any]
            let vector = try #require(mean?["embedding"] as? [Double])
            return vector[1] / vector[0]
        }
        #expect(try white("upright") < 0.05)
        #expect(try white("around") > 0.2)
    }

    @Test("a depth map needs all of the picture: crop=center is refused, crop=fit shows the part of the letterbox")
    func depthOfAPartIsRefused() throws {
        let daemon = try Daemon(["--models", Self.folder.path])
        defer { daemon.stop() }
        let tall = Self.folder.appendingPathComponent("tall.png")
        let part = try Curl.post(tall, to: daemon.url + "/v1/models/depth/predict?crop=center")
        #expect(part.status == 400 && part.code == "invalid_input" && part.error.contains("crop=fill"), "\(part.text)")
        let fit = try Curl.post(
            tall, to: daemon.url + "/v1/models/depth/predict?crop=fit", ["-H", "Accept: application/octet-stream"])
        // 20 x 40 becomes 32 x 64 in the middle of 96 x 64: columns 4 to 8 of 12.
        let whole = try Curl.post(tall, to: daemon.url + "/v1/models/depth/predict?crop=fill").json
        let range = try #require((whole["outputs"] as? [String: [String: Any]])?["output0"])
        let (least, greatest) = (range["min"] as? Double ?? .nan, range["max"] as? Double ?? .nan)
        let values = Self.numbers(fit.body)
        #expect(values.count == 800 && fit.status == 200)
        #expect(values.allSatisfy { Double($0) >= least - 1e-4 && Double($0) <= greatest + 1e-4 }, "\(range)")
        #expect(Set(values[0..<20]).count > 10)
        let listed = try Curl.run(daemon.url + "/v1/models/depth")
        #expect((listed.json["outputs"] as? [[String: Any]])?.first?["type"] as? String == "depth", "\(listed.text)")
        let segment = try Curl.post(tall, to: daemon.url + "/v1/models/depth/segment")
        #expect(segment.status == 400 && segment.error.contains("/predict"), "\(segment.text)")
    }

    @Test("an answer of the picture's size that is larger than the memory for answers is 413 before it is made")
    func largeAnswersAreRefused() throws {
        let daemon = try Daemon(["--models", Self.folder.path, "--max-total-answers", "4000"])
        defer { daemon.stop() }
        let answer = try Curl.post(
            Self.folder.appendingPathComponent("tall.png"), to: daemon.url + "/v1/models/depth/predict")
        #expect(answer.status == 413 && answer.code == "image_too_large", "\(answer.text)")
        #expect(answer.error.contains("max_total_answers"))
    }

    // MARK: Shared data

    @Test(
        "the heads of the shared data answer as their cases say",
        .enabled(if: SharedData.folder != nil, Comment(rawValue: SharedData.absence)))
    func sharedHeads() throws {
        let folder = try #require(SharedData.folder).appendingPathComponent("seeds")
        let text = try Data(contentsOf: folder.appendingPathComponent("cases.json"))
        let cases = try #require(
            (try JSONSerialization.jsonObject(with: text) as? [String: Any])?["heads"] as? [[String: Any]])
        let daemon = try Daemon(["--models", folder.appendingPathComponent("heads").path])
        for one in cases {
            let file = try #require(one["model"] as? String), picture = try #require(one["picture"] as? String)
            let name = String(try #require(file.split(separator: "/").last).dropLast(5))
            let url = daemon.url + "/v1/models/\(name)/"
            let image = folder.appendingPathComponent(picture)
            if let expected = one["detections"] as? [[String: Any]] {
                let answer = try Curl.post(image, to: url + "detect?" + (one["query"] as? String ?? ""))
                let found = try #require(answer.json["detections"] as? [[String: Any]], "\(answer.text)")
                try compare(found, expected, pixels: 0.5, angle: 0.002, confidence: 0.002, "\(name), \(picture)")
            } else if let depth = one["depth"] as? String {
                let expected = Self.numbers(try Data(contentsOf: folder.appendingPathComponent(depth))).map(Double.init)
                let tolerance = try #require(one["tolerance"] as? Double)
                try Self.compare(
                    try Self.floats(daemon, name, image), expected, within: tolerance, "\(name), \(picture)")
            } else {
                try checkBands(try #require(one["mask"] as? String), image, url, folder)
            }
        }
        #expect(cases.count >= 14)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// Compares areas: away from the edges of the bands all pixels are equal, so each area is within 8 columns or rows.
    private func checkBands(_ mask: String, _ picture: URL, _ url: String, _ folder: URL) throws {
        let answer = try Curl.post(picture, to: url + "segment")
        let displayed = (answer.json["image"] as? [String: Any])?["displayed"] as? [String: Int]
        let width = try #require(displayed?["width"], "\(answer.text)"), height = try #require(displayed?["height"])
        let png = try #require((answer.json["mask"] as? [String: String])?["b64"]).data(using: .utf8) ?? Data()
        let found = try Pixels.gray(try #require(Data(base64Encoded: png)), width: width, height: height)
        let expected = try Pixels.gray(
            try Data(contentsOf: folder.appendingPathComponent(mask)), width: width, height: height)
        for row in 0..<height {
            for column in 0..<width {
                let around = [(-4, 0), (4, 0), (0, -4), (0, 4)].map { across, down in
                    let x = min(max(column + across, 0), width - 1), y = min(max(row + down, 0), height - 1)
                    return expected[y * width + x]
                }
                let wanted = expected[row * width + column]
                guard around.allSatisfy({ $0 == wanted }) else { continue }
                #expect(found[row * width + column] == wanted, "\(url): \(column), \(row)")
            }
        }
    }
}

/// Pixels of pictures.
private enum Pixels {
    /// A PNG that is white where a closure says so for the middle of a pixel, otherwise red.
    static func png(width: Int, height: Int, isWhite: (Double, Double) -> Bool) throws -> Data {
        var pixels: [UInt8] = []
        for y in 0..<height {
            for x in 0..<width {
                let rest: UInt8 = isWhite(Double(x) + 0.5, Double(y) + 0.5) ? 255 : 0
                pixels += [255, rest, rest]
            }
        }
        return Data(
            try pixels.withUnsafeBytes {
                try PNGEncoder.encode(width: width, height: height, channels: 3, pixels: $0)
            })
    }

    /// The numbers of a gray PNG of 8 bits.
    static func gray(_ png: Data, width: Int, height: Int) throws -> [UInt8] {
        let spec = ImageTensorSpec(width: width, height: height, channelOrder: .gray, cropAndScale: .scaleFill)
        var pixels = [UInt8](repeating: 0, count: width * height)
        let pipeline = try ImagePipeline(spec: spec)
        try pixels.withUnsafeMutableBytes { target in
            try png.withUnsafeBytes { _ = try pipeline.prepare($0, into: target) }
        }
        return pixels
    }
}
