import Foundation
import TestSupport
import Testing

/// Small models of `Tests/Fixtures/observations` (`Tests/FixtureMakers/make-observation-fixtures`), compared with the
/// answers of LiteRT, OpenVINO's Python API and numpy for the same tensors.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct ObservationFixturesTests {
    private static let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/observations")

    private static func expected() throws -> [String: Any] {
        let text = try Data(contentsOf: folder.appendingPathComponent("expected.json"))
        return try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
    }

    private static func numbers(_ value: Any?) throws -> [Double] {
        func flat(_ value: Any) -> [Double] {
            if let list = value as? [Any] { return list.flatMap(flat) }
            return (value as? Double).map { [$0] } ?? []
        }
        return flat(try #require(value))
    }

    @Test("TFLite_Detection_PostProcess gives LiteRT's tensors and detections, in each of its modes")
    func theDetectionOperatorGivesWhatLiteRTGives() throws {
        let daemon = try Daemon(["--models", Self.folder.path])
        defer { daemon.stop() }
        let cases = try Self.expected().filter { $0.key.hasPrefix("ssd_") }
        #expect(cases.count == 7)
        for (name, one) in cases.sorted(by: { $0.key < $1.key }) {
            let what = Comment(rawValue: name)
            let one = try #require(one as? [String: Any], what)
            let picture = Self.folder.appendingPathComponent(try #require(one["picture"] as? String))
            let answer = try Curl.post(picture, to: daemon.url + "/v1/models/\(name)/predict")
            #expect(answer.status == 200, "\(name): \(answer.text)")
            let outputs = try #require(answer.json["outputs"] as? [String: Any], what)
            let base = "TFLite_Detection_PostProcess"
            let boxes = try Self.numbers(outputs[base]), classes = try Self.numbers(outputs[base + ":1"])
            let scores = try Self.numbers(outputs[base + ":2"]), count = try Self.numbers(outputs[base + ":3"])
            let wanted = try #require(one["count"] as? Int), shapes = try #require(one["shapes"] as? [[Int]])
            #expect(count == [Double(wanted)], what)
            #expect(boxes.count == shapes[0].reduce(1, *) && classes.count == shapes[1].reduce(1, *), what)
            let expectedBoxes = try Self.numbers(one["boxes"]), expectedClasses = try Self.numbers(one["classes"])
            let expectedScores = try Self.numbers(one["scores"])
            let filled = try #require(one["filled"] as? [Int])
            for (place, row) in filled.enumerated() {
                #expect(classes[row] == expectedClasses[place], what)
                #expect(abs(scores[row] - expectedScores[place]) < 1e-4, what)
                for side in 0..<4 { #expect(abs(boxes[4 * row + side] - expectedBoxes[4 * place + side]) < 1e-4, what) }
            }
            let found = try #require(
                try Curl.post(picture, to: daemon.url + "/v1/models/\(name)/detect").json["detections"]
                    as? [[String: Any]], what)
            // Rows after the count are padding; rows of zeros are not detections, nor are boxes outside the picture.
            let meant = filled.indices.filter { filled[$0] < wanted }
            #expect(found.count <= meant.count && found.count >= meant.count - 2, what)
            for one in found {
                let label = one["index"] as? Double ?? -1, confidence = one["confidence"] as? Double ?? -1
                #expect(
                    meant.contains {
                        expectedClasses[$0] == label && abs(expectedScores[$0] - confidence) < 1e-4
                    }, what)
            }
        }
    }

    /// The query's thresholds apply: the expected answers are LiteRT's for files with these thresholds.
    @Test("`threshold` and `iou` of a request apply inside TFLite_Detection_PostProcess, as in LiteRT")
    func thresholdsOfTheQueryReachTheDetectionOperator() throws {
        let daemon = try Daemon(["--models", Self.folder.path])
        defer { daemon.stop() }
        for (name, one) in try Self.expected() {
            guard let one = one as? [String: Any], let low = one["low"] as? [String: Any] else { continue }
            let picture = Self.folder.appendingPathComponent(try #require(one["picture"] as? String))
            let classes = try Self.numbers(low["classes"]), scores = try Self.numbers(low["scores"])
            let query = "?threshold=\(try #require(low["threshold"]))&iou=\(try #require(low["iou"]))"
            func found(_ query: String) throws -> [(label: Double, confidence: Double)] {
                let answer = try Curl.post(picture, to: daemon.url + "/v1/models/\(name)/detect" + query)
                let list = try #require(answer.json["detections"] as? [[String: Any]], "\(answer.text)")
                return list.map { ($0["index"] as? Double ?? -1, $0["confidence"] as? Double ?? -1) }
            }
            let lowered = try found(query), usual = try found("")
            // Boxes outside the picture are not detections.
            #expect(lowered.count <= scores.count && lowered.count >= scores.count - 4, "\(name): \(lowered)")
            for one in lowered {
                #expect(
                    scores.indices.contains { classes[$0] == one.label && abs(scores[$0] - one.confidence) < 1e-4 },
                    "\(name): \(one)")
            }
            // They apply to one request only.
            let again = try found("")
            #expect(lowered.count > usual.count && again.count == usual.count, "\(name)")
        }
        #expect(try Self.expected().values.count { ($0 as? [String: Any])?["low"] != nil } == 2)
    }

    /// The embedding as computed by OpenVINO's Python API, and the nearest classes by numpy.
    @Test("embeddings are those of OpenVINO's Python API, and zero-shot classes those of numpy")
    func embeddingsAndClassesByThem() throws {
        let daemon = try Daemon(["--models", Self.folder.path])
        defer { daemon.stop() }
        let cases = try #require(try Self.expected()["embeddings"] as? [[String: Any]])
        #expect(cases.count == 6)
        for one in cases {
            let name = try #require(one["picture"] as? String), what = Comment(rawValue: name)
            let picture = Self.folder.appendingPathComponent(name)
            let answer = try Curl.post(picture, to: daemon.url + "/v1/models/embedder/embed")
            let vector = try #require(answer.json["embedding"] as? [Double], "\(name): \(answer.text)")
            let wanted = try Self.numbers(one["vector"])
            #expect(vector.count == wanted.count, what)
            let lengths = [vector, wanted].map { $0.reduce(0) { $0 + $1 * $1 }.squareRoot() }
            let product = zip(vector, wanted).reduce(0) { $0 + $1.0 * $1.1 }
            #expect(product / (lengths[0] * lengths[1]) >= 0.9999, what)
            #expect(abs(lengths[0] - 1) < 1e-5, what)
            let classes = try Curl.post(picture, to: daemon.url + "/v1/models/zeroshot/classify")
            let probabilities = try Self.numbers(one["probabilities"])
            #expect(classes.classifications.count == probabilities.count, "\(name): \(classes.text)")
            for entry in classes.classifications {
                let index = try #require(entry["index"] as? Int),
                    confidence = try #require(entry["confidence"] as? Double)
                #expect(entry["label"] as? String == "kind \(index)", what)
                #expect(abs(confidence - probabilities[index]) <= 1e-4, what)
            }
            // A model without vectors of classes does not classify, and names its own task.
            let refusal = try Curl.post(picture, to: daemon.url + "/v1/models/embedder/classify")
            #expect(refusal.status == 400 && refusal.error.contains("/embed"), "\(refusal.text)")
        }
        // base64, and several at once.
        let pictures = (0..<3).flatMap { ["-F", "image=@\(Self.folder.path)/picture\($0).png"] }
        let batch = try Curl.run(daemon.url + "/v1/models/embedder/embed?encoding=base64", pictures)
        let results = try #require(batch.json["results"] as? [[String: Any]])
        for (one, result) in zip(cases, results) {
            let text = try #require((result["embedding"] as? [String: Any])?["b64"] as? String)
            let bytes = try #require(Data(base64Encoded: text))
            let vector = bytes.withUnsafeBytes { raw in
                (0..<raw.count / 4).map { raw.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self) }
            }
            let wanted = try Self.numbers(one["vector"])
            let length = wanted.reduce(0) { $0 + $1 * $1 }.squareRoot()
            #expect(vector.count == wanted.count)
            for (found, value) in zip(vector, wanted) { #expect(abs(Double(found) - value / length) < 1e-4) }
        }
    }

    /// Unchanged exports of Ultralytics: masks and keypoints come with the boxes. Pictures of 24 pixels go into tensors
    /// of 64.
    @Test("Ultralytics exports give boxes with masks or keypoints; rotated boxes are served as tensors")
    func exportsOfUltralyticsWithoutAModelJSON() throws {
        let daemon = try Daemon(["--models", Self.folder.path])
        defer { daemon.stop() }
        let picture = Self.folder.appendingPathComponent("picture0.png")
        func one(_ name: String) throws -> [String: Any] {
            let answer = try Curl.post(picture, to: daemon.url + "/v1/models/\(name)/detect")
            let found = try #require(answer.json["detections"] as? [[String: Any]], "\(name): \(answer.text)")
            #expect(found.count == 1)
            return try #require(found.first)
        }
        func area(_ found: [String: Any]) throws -> Int {
            let mask = try #require(found["mask"] as? [String: Any])
            #expect(mask["size"] as? [Int] == [24, 24])
            let runs = ObservationsTests.runs(try #require(mask["counts"] as? String))
            return runs.enumerated().reduce(0) { $0 + ($1.offset % 2 == 1 ? $1.element : 0) }
        }
        let segment = try one("ultralytics_segment"), final = try one("ultralytics_segment_end")
        let box = ["x": 8.25, "y": 8.25, "width": 7.5, "height": 7.5]
        #expect(segment["label"] as? String == "dog" && segment["box"] as? [String: Double] == box)
        // Pixels with their middle in the box.
        #expect(try area(segment) == 8 * 8)
        #expect(
            final["box"] as? [String: Double] == ["x": 3.75, "y": 3.75, "width": 11.25, "height": 11.25])
        #expect(try area(final) == 11 * 11)
        let pose = try one("ultralytics_pose")
        #expect(pose["label"] as? String == "cat" && pose["box"] as? [String: Double] == box)
        let points = try #require(pose["keypoints"] as? [[String: Any]])
        #expect(points.map { $0["x"] as? Double } == [11.25, 15, 3.75])
        #expect(points.map { $0["y"] as? Double } == [11.625, 7.5, 3.75])
        // Its scores are zeros.
        let turned = try Curl.post(picture, to: daemon.url + "/v1/models/ultralytics_obb/detect")
        #expect(turned.status == 200 && (turned.json["detections"] as? [Any])?.isEmpty == true, "\(turned.text)")
        #expect(try Curl.post(picture, to: daemon.url + "/v1/models/ultralytics_obb/predict").status == 200)
    }
}
