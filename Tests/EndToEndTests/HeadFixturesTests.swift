import Foundation
import TestSupport
import Testing

/// Detectors whose last steps are computed outside the engine (`Tests/FixtureMakers/make-head-fixtures`): TensorFlow
/// Lite's suppression among other operators, as LiteRT computes it, and SCRFD's rows, by insightface's description.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct HeadFixturesTests {
    private static let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/heads")

    private static func expected() throws -> [String: [String: Any]] {
        let text = try Data(contentsOf: folder.appendingPathComponent("expected.json"))
        return try #require(try JSONSerialization.jsonObject(with: text) as? [String: [String: Any]])
    }

    private static func numbers(_ value: Any?) -> [Double] {
        if let list = value as? [Any] { return list.flatMap { numbers($0) } }
        return (value as? Double).map { [$0] } ?? []
    }

    @Test func suppressionInTheGraphGivesWhatLiteRTGives() throws {
        let daemon = try Daemon(["--models", Self.folder.path])
        defer { daemon.stop() }
        let zeros = Array(repeating: Array(repeating: [0.0, 0, 0], count: 64), count: 64)
        let body = try JSONSerialization.data(withJSONObject: ["inputs": [[zeros]]])
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-zeros-\(UUID().uuidString)")
        try body.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let picture = Self.folder.appendingPathComponent("picture.png")
        let cases = try Self.expected().filter { $0.key.hasPrefix("nms_") }
        #expect(cases.count == 5)
        for (name, one) in cases.sorted(by: { $0.key < $1.key }) {
            let model = daemon.url + "/v1/models/\(name)"
            let wanted = try #require(one["outputs"] as? [[String: Any]])
            // Models that find things take a picture: a black one is zeros.
            let answer =
                one["found"] == nil
                ? try Curl.run(
                    model + "/predict", ["-H", "Content-Type: application/json", "--data-binary", "@\(file.path)"])
                : try Curl.post(picture, to: model + "/predict")
            #expect(answer.status == 200, "\(name): \(answer.text.prefix(600))")
            let outputs = try #require(answer.json["outputs"] as? [String: Any], "\(name)")
            #expect(outputs.count == wanted.count, "\(name)")
            for output in wanted {
                let key = try #require(output["name"] as? String)
                let values = Self.numbers(outputs[key]), reference = Self.numbers(output["values"])
                #expect(values.count == reference.count, "\(name), \(key)")
                let worst = zip(values, reference).map { abs($0 - $1) }.max() ?? 9
                #expect(worst < 1e-4, "\(name), \(key): \(worst)")
            }
            guard let found = one["found"] as? Int else { continue }
            let detections = try Curl.post(picture, to: model + "/detect?threshold=0.01")
            // Boxes in the margin are outside of the picture.
            let count = (detections.json["detections"] as? [Any])?.count ?? 0
            #expect(detections.status == 200 && count > 0 && count <= found, "\(name): \(detections.text.prefix(300))")
        }
    }

    @Test func facesOfSCRFDHaveTwoRowsInACell() throws {
        let daemon = try Daemon(["--models", Self.folder.path])
        defer { daemon.stop() }
        let faces = try #require(try Self.expected()["scrfd"]?["faces"] as? [[String: Any]])
        let answer = try Curl.post(
            Self.folder.appendingPathComponent("picture.png"), to: daemon.url + "/v1/models/scrfd/detect")
        let found = try #require(answer.json["detections"] as? [[String: Any]], "\(answer.text)")
        #expect(found.count == faces.count && faces.count == 4, "\(answer.text)")
        for (one, face) in zip(found, faces) {
            #expect(abs((one["confidence"] as? Double ?? 0) - (face["confidence"] as? Double ?? 9)) < 1e-4)
            let box = try #require(one["box"] as? [String: Double])
            for (key, side) in zip(["x", "y", "width", "height"], Self.numbers(face["box"])) {
                #expect(abs((box[key] ?? -1e9) - side) < 0.01, "\(answer.text)")
            }
            let points = try #require(one["keypoints"] as? [[String: Any]])
            let places = points.flatMap { [$0["x"] as? Double ?? -1e9, $0["y"] as? Double ?? -1e9] }
            for (place, wanted) in zip(places, Self.numbers(face["points"])) { #expect(abs(place - wanted) < 0.01) }
            #expect(points.count == 5 && points.first?["name"] as? String == "left eye")
        }
    }
}
