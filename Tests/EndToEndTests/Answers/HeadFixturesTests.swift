import Foundation
import TestSupport
import Testing

/// Detectors with last steps that are computed outside the engine (`Tests/FixtureMakers/make-head-fixtures`):
/// TensorFlow Lite's suppression among other operators, compared with LiteRT, and SCRFD's rows, by insightface's
/// description.
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

    @Test("TensorFlow Lite graphs with non-maximum suppression give the outputs of LiteRT")
    func suppressionInTheGraphGivesWhatLiteRTGives() throws {
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
            // Detectors take a picture: a black one is zeros.
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
            // Boxes in the margin are outside the picture.
            let count = (detections.json["detections"] as? [Any])?.count ?? 0
            #expect(detections.status == 200 && count > 0 && count <= found, "\(name): \(detections.text.prefix(300))")
        }
    }

    @Test("SCRFD faces have the boxes, confidences and five points that insightface's description gives")
    func facesOfSCRFDHaveTwoRowsInACell() throws {
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

    /// `Tests/FixtureMakers/make-family-fixtures`: each family's outputs, and the finds of its authors' decoder.
    @Test("each detector family finds the boxes and points of its authors' decoder")
    func familiesAndHeadsByHandFindWhatTheirAuthorsDecodersFind() throws {
        let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/families")
        let daemon = try Daemon(["--models", folder.path])
        defer { daemon.stop() }
        let text = try Data(contentsOf: folder.appendingPathComponent("expected.json"))
        let families = try #require(try JSONSerialization.jsonObject(with: text) as? [String: [String: Any]])
        #expect(families.count == 23)
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            guard let wanted = family["detections"] as? [[String: Any]] else { continue }
            let answer = try Curl.post(
                folder.appendingPathComponent("picture.png"), to: daemon.url + "/v1/models/\(name)/detect")
            let found = try #require(answer.json["detections"] as? [[String: Any]], "\(name): \(answer.text)")
            #expect(found.count == wanted.count, "\(name): \(answer.text)")
            var worst = 0.0
            for (one, other) in zip(found, wanted) {
                #expect(one["index"] as? Int == other["index"] as? Int, "\(name)")
                #expect(
                    abs((one["confidence"] as? Double ?? 9) - (other["confidence"] as? Double ?? -9)) < 1e-4, "\(name)")
                let box = try #require(one["box"] as? [String: Double])
                let (x, y) = (box["x"] ?? -1e9, box["y"] ?? -1e9)
                var numbers = [x, y, x + (box["width"] ?? 0), y + (box["height"] ?? 0)]
                var reference = Self.numbers(other["box"])
                for point in one["keypoints"] as? [[String: Any]] ?? [] {
                    numbers += [point["x"] as? Double ?? -1e9, point["y"] as? Double ?? -1e9]
                }
                reference += Self.numbers(other["points"])
                #expect(numbers.count == reference.count, "\(name)")
                worst = max(worst, zip(numbers, reference).map { abs($0 - $1) }.max() ?? 1e9)
            }
            #expect(worst < 0.01, "\(name): \(worst) pixels")
            print("largest difference of \(name): \(worst) pixels")
        }
    }

    @Test("a face mesh answers keypoints with all 468 points and their depths")
    func aFaceMeshGivesAllItsPointsWithTheirDepth() throws {
        let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/families")
        let daemon = try Daemon(["--models", folder.path])
        defer { daemon.stop() }
        let text = try Data(contentsOf: folder.appendingPathComponent("expected.json"))
        let all = try #require(try JSONSerialization.jsonObject(with: text) as? [String: [String: Any]])
        let wanted = Self.numbers(all["face_mesh"]?["points"])
        let answer = try Curl.post(
            folder.appendingPathComponent("picture.png"), to: daemon.url + "/v1/models/face_mesh/keypoints")
        let points = try #require(answer.json["keypoints"] as? [[String: Any]], "\(answer.text.prefix(300))")
        #expect(points.count == 468 && wanted.count == 3 * 468)
        let found = points.flatMap { point in ["x", "y", "z"].map { point[$0] as? Double ?? -1e9 } }
        let worst = zip(found, wanted).map { abs($0 - $1) }.max() ?? 1e9
        #expect(worst < 0.01, "\(worst)")
        #expect(points.first?["name"] as? String == "0" && points.last?["name"] as? String == "467")
        #expect(points.allSatisfy { $0["confidence"] == nil })
    }
}
