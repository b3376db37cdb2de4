import Foundation
import TestSupport
import Testing

/// A Core ML detector in its exporters' form: a pipeline that ends with a non-maximum suppression. The expected answers
/// are computed by numpy (Tests/FixtureMakers/coreml_fixtures/product_detector.py).
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct CoreMLDetectorTests {
    private struct Expected: Decodable {
        var detector: [String: [Found]]
        var detector_sure: [Found]
        var detector_low: [Found]
        var faces: [String: [Found]]
        var faces_low: [Found]
    }

    private struct Found: Decodable {
        var label: String
        var confidence: Double
        /// Centre x and y, width and height, as fractions of the network's picture.
        var box: [Double]
    }

    private func expected() throws -> Expected {
        let data = try Data(contentsOf: CoreMLFixtures.product.appendingPathComponent("expected.json"))
        return try JSONDecoder().decode(Expected.self, from: data)
    }

    /// Ocelli computes the suppression: the query's thresholds replace the file's, whether or not the file takes them
    /// as inputs.
    @Test("`threshold` and `iou` of a request replace those of a Core ML file's non-maximum suppression")
    func thresholdsOfTheQueryReachTheSuppressionOfTheFile() throws {
        let expected = try expected()
        let folder = try CoreMLFixtures.Folder(
            ["detector", "faces"].map { CoreMLFixtures.product.appendingPathComponent("\($0).mlmodel") })
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let red = CoreMLFixtures.product.appendingPathComponent("red.png")
        for (model, low, usual) in [
            ("detector", expected.detector_low, expected.detector["red"]),
            ("faces", expected.faces_low, expected.faces["red"]),
        ] {
            #expect(low.count > (usual?.count ?? 0))
            let route = daemon.url + "/v1/models/\(model)/detect"
            func found(_ query: String, _ more: [String] = []) throws -> [Double?] {
                let answer = try Curl.post(red, to: route + query, more)
                #expect(answer.status == 200, "\(answer.text)")
                return (answer.json["detections"] as? [[String: Any]] ?? []).map { $0["confidence"] as? Double }
            }
            func close(_ found: [Double?], _ wanted: [Found]?) -> Bool {
                found.count == wanted?.count
                    && zip(found, wanted ?? []).allSatisfy { abs(($0 ?? .nan) - $1.confidence) < 2e-3 }
            }
            #expect(close(try found("?threshold=0.05&iou=0.9"), low))
            // They apply to one request only.
            #expect(close(try found(""), usual))
            // One more box, which the first one suppresses; and one more with a low confidence.
            #expect(try found("?iou=0.9").count == (usual?.count ?? 0) + 1)
            #expect(try found("?threshold=0.05").count == (usual?.count ?? 0) + 1)
            #expect(try found("?threshold=0.6&iou=0.9").count == low.count { $0.confidence >= 0.6 })
            let batch = try Curl.run(
                route + "?threshold=0.05&iou=0.9", ["-F", "image=@\(red.path)", "-F", "image=@\(red.path)"])
            let results = batch.json["results"] as? [[String: Any]] ?? []
            #expect(results.map { ($0["detections"] as? [Any])?.count } == [low.count, low.count], "\(batch.text)")
        }
    }

    /// An undeclared number of boxes is an open extent: a single box of one class is still a row.
    @Test("a Core ML detector that finds a single box answers predict with an array of one row")
    func oneBoxIsARowInPredict() throws {
        let folder = try CoreMLFixtures.Folder([CoreMLFixtures.product.appendingPathComponent("faces.mlmodel")])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        for (picture, found) in try expected().faces {
            let answer = try Curl.post(
                CoreMLFixtures.product.appendingPathComponent("\(picture).png"),
                to: daemon.url + "/v1/models/faces/predict")
            let outputs = try #require(answer.json["outputs"] as? [String: Any])
            let scores = try #require(outputs["confidence"] as? [[Double]], "\(picture): \(answer.text)")
            #expect(scores.count == found.count && scores.allSatisfy { $0.count == 1 })
            #expect((outputs["coordinates"] as? [[Double]])?.count == found.count)
        }
        #expect(try expected().faces.values.contains { $0.count == 1 })
    }

    @Test("a Core ML detector's boxes, labels and confidences are as numpy computes them")
    func aDetectorFindsBoxesInPictures() throws {
        let expected = try expected()
        let folder = try CoreMLFixtures.Folder([CoreMLFixtures.product.appendingPathComponent("detector.mlmodel")])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        for (name, wanted) in expected.detector {
            let picture = CoreMLFixtures.product.appendingPathComponent("\(name).png")
            let answer = try Curl.post(picture, to: daemon.url + "/v1/detect")
            let found = try #require(answer.json["detections"] as? [[String: Any]], "\(answer.text)")
            #expect(found.count == wanted.count, "\(name): \(answer.text)")
            for (detection, wanted) in zip(found, wanted) {
                #expect(detection["label"] as? String == wanted.label, "\(name): \(answer.text)")
                let box = detection["box"] as? [String: Double] ?? [:]
                // The network's input is the 16 columns in the middle of 20, and all 16 rows.
                let numbers = [
                    2 + (wanted.box[0] - wanted.box[2] / 2) * 16, (wanted.box[1] - wanted.box[3] / 2) * 16,
                    wanted.box[2] * 16, wanted.box[3] * 16, wanted.confidence,
                ]
                let values = [box["x"], box["y"], box["width"], box["height"], detection["confidence"] as? Double]
                for (value, number) in zip(values, numbers) {
                    #expect(abs((value ?? .nan) - number) < 2e-3, "\(name): \(answer.text)")
                }
            }
        }
        // The thresholds are optional inputs.
        let gray = try Data(contentsOf: CoreMLFixtures.product.appendingPathComponent("gray.png")).base64EncodedString()
        for (settings, count) in [
            ("", expected.detector["gray"]?.count),
            (", \"iouThreshold\": 0.9, \"confidenceThreshold\": 0.5", expected.detector_sure.count),
        ] {
            let answer = try Curl.run(
                daemon.url + "/v1/models/detector/predict", ["--data-binary", "@-"],
                input: Data("{\"inputs\": {\"image\": {\"b64\": \"\(gray)\"}\(settings)}}".utf8))
            let outputs = answer.json["outputs"] as? [String: Any]
            #expect((outputs?["coordinates"] as? [Any])?.count == count, "\(answer.text)")
        }
    }
}
