import Foundation
import TestSupport
import Testing

/// A Core ML detector as its exporters write it: a pipeline that ends with a non-maximum suppression. What is expected is what numpy
/// computes (Tests/FixtureMakers/coreml_fixtures/product_detector.py).
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct CoreMLDetectorTests {
    private struct Expected: Decodable {
        var detector: [String: [Found]]
        var detector_sure: [Found]
    }

    private struct Found: Decodable {
        var label: String
        var confidence: Double
        /// Centre x and y, width and height, as fractions of the picture that the network sees.
        var box: [Double]
    }

    @Test func aDetectorFindsBoxesInPictures() throws {
        let data = try Data(contentsOf: CoreMLTests.product.appendingPathComponent("expected.json"))
        let expected = try JSONDecoder().decode(Expected.self, from: data)
        let folder = try CoreMLTests.Folder([CoreMLTests.product.appendingPathComponent("detector.mlmodel")])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        for (name, wanted) in expected.detector {
            let picture = CoreMLTests.product.appendingPathComponent("\(name).png")
            let answer = try Curl.post(picture, to: daemon.url + "/v1/detect")
            let found = try #require(answer.json["detections"] as? [[String: Any]], "\(answer.text)")
            #expect(found.count == wanted.count, "\(name): \(answer.text)")
            for (detection, wanted) in zip(found, wanted) {
                #expect(detection["label"] as? String == wanted.label, "\(name): \(answer.text)")
                let box = detection["box"] as? [String: Double] ?? [:]
                // The network sees the 16 columns in the middle of 20, and all 16 rows.
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
        // The thresholds are inputs that may be left out.
        let gray = try Data(contentsOf: CoreMLTests.product.appendingPathComponent("gray.png")).base64EncodedString()
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
