import Foundation
import TestSupport
import Testing

/// Models that give known tensors for any picture (`Tests/FixtureMakers/make-detector-fixtures`), of every layout: the
/// boxes for pictures of three shapes, in all orientations, with each crop, compared with those computed by numpy.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct DetectorFixturesTests {
    private struct Request: Decodable {
        let bundle: String, picture: String, crop: String
        let width: Int, height: Int, count: Int
        let expected: [Expected]
    }

    private struct Expected: Decodable {
        let index: Int
        let confidence: Double
        let box: [Double]
    }

    private static let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/detectors")

    @Test("detectors of each output layout give numpy's boxes, for each picture orientation and crop")
    func everyLayoutOrientationAndCrop() throws {
        let text = try Data(contentsOf: Self.folder.appendingPathComponent("expected.json"))
        let requests = try JSONDecoder().decode([Request].self, from: text)
        let daemon = try Daemon(["--models", Self.folder.path])
        defer { daemon.stop() }
        #expect(requests.count > 250)
        // One connection for all: a curl process for each took most of the time.
        let client = try RawClient(daemon.url)
        for request in LongTests.every(4, of: requests) {
            let picture = try Data(contentsOf: Self.folder.appendingPathComponent("pictures/\(request.picture)"))
            try client.post(picture, to: "/v1/models/\(request.bundle)/detect?crop=\(request.crop)")
            let answer = try client.response()
            let what = Comment(rawValue: "\(request.bundle), \(request.picture), \(request.crop)")
            #expect(answer.status == 200, what)
            let json = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any] ?? [:]
            let found = try #require(json["detections"] as? [[String: Any]], what)
            #expect(found.count == request.count, what)
            let displayed = (json["image"] as? [String: Any])?["displayed"] as? [String: Int]
            #expect(displayed == ["width": request.width, "height": request.height], what)
            for (one, expected) in zip(found, request.expected) {
                #expect(one["index"] as? Int == expected.index, what)
                #expect(one["label"] as? String == "class \(expected.index)", what)
                #expect(abs((one["confidence"] as? Double ?? 9) - expected.confidence) < 1e-4, what)
                let box = one["box"] as? [String: Double] ?? [:]
                for (key, value) in zip(["x", "y", "width", "height"], expected.box) {
                    #expect(abs((box[key] ?? -1e9) - value) < 0.02, what)
                }
            }
        }
    }
}
