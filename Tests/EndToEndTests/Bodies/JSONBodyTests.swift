import Foundation
import TestSupport
import Testing

/// JSON bodies take a slot before they are read, and reading stops at the first value that cannot fit.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct JSONBodyTests {
    /// Everything after the first excess value is neither read nor checked.
    @Test("a JSON body is not read beyond the first value that is too many")
    func readingStopsAtTheFirstValueThatCannotFit() throws {
        let daemon = try Daemon()
        let predict = daemon.url + "/v1/models/digits/predict"
        let numbers = Array(repeating: "0", count: 60_000).joined(separator: ",")
        for (body, words) in [
            ("{\"inputs\":[{\"b64\":\"\"},\"\" no JSON", "found more"),
            ("[{\"b64\":\"\"},{\"b64\":\"\"}, no JSON", "found more"),
        ] {
            let answer = try Curl.run(predict, ["--data-binary", "@-"], input: Data(body.utf8))
            #expect(answer.status == 400 && answer.error.contains(words), "\(answer.text)")
        }
        let infer =
            "{\"inputs\":[{\"name\":\"image\",\"datatype\":\"FP32\",\"shape\":[1,8,8,1],\"data\":[\(numbers), no JSON"
        let answer = try Curl.run(
            daemon.url + "/v2/models/digits/infer", ["--data-binary", "@-"], input: Data(infer.utf8))
        #expect(answer.status == 400 && !answer.error.contains("valid JSON"), "\(answer.text)")
        #expect(daemon.stop() == 0)
    }

    /// Base64 as programs write it into JSON: with + and = escaped (Gson, .NET), with / escaped (PHP), as a data: URL
    /// (browsers).
    @Test("base64 pictures in JSON are read with escaped characters and as data: URLs")
    func picturesInJSONAreReadAsProgramsWriteThem() throws {
        let daemon = try Daemon()
        let text = try Data(contentsOf: BadInputTests.seven).base64EncodedString()
        let escaped = text.replacingOccurrences(of: "+", with: "\\u002B").replacingOccurrences(of: "=", with: "\\u003d")
        #expect(escaped.contains("u002B") && escaped.contains("u003d"))
        for picture in [escaped, text.replacingOccurrences(of: "/", with: "\\/"), "data:image/png;base64," + text] {
            for body in [
                "{\"inputs\": {\"image\": \"\(picture)\"}}", "{\"inputs\": {\"image\": {\"b64\": \"\(picture)\"}}}",
            ] {
                let answer = try Curl.run(
                    daemon.url + "/v1/models/digits/predict?top=1", ["--data-binary", "@-"], input: Data(body.utf8))
                let outputs = answer.json["outputs"] as? [String: [[String: Any]]]
                #expect(outputs?["probabilities"]?.first?["label"] as? String == "7", "\(answer.text)")
            }
            let infer =
                "{\"inputs\": [{\"name\": \"image\", \"shape\": [1], \"datatype\": \"BYTES\", \"data\": [\"\(picture)\"]}], "
                + "\"outputs\": [{\"name\": \"probabilities\", \"parameters\": {\"classification\": 1}}]}"
            let answer = try Curl.run(
                daemon.url + "/v2/models/digits/infer", ["--data-binary", "@-"], input: Data(infer.utf8))
            #expect(answer.status == 200 && answer.text.contains(":7:7\""), "\(answer.text)")
        }
        #expect(daemon.stop() == 0)
    }

    /// The model's only slot is taken, and no request may wait: a body that is not JSON is refused for that reason,
    /// unread.
    @Test("a JSON body is refused with 503, unread, if the model has no free slot")
    func aBodyIsReadInASlot() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-json-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try SlowModel.write(into: folder, layers: 60)
        let daemon = try Daemon([
            "--models", folder.path, "--max-in-flight", "1", "--queue-length", "0", "--load-trial=false",
        ])
        let busy = try RawClient(daemon.url)
        busy.offer(RawClient.request(try Data(contentsOf: BadInputTests.seven), to: "/v1/models/slow/classify"))
        #expect(
            eventually {
                let page = (try? Curl.run(daemon.url + "/metrics").text) ?? ""
                return MetricsTests.value("ocelli_in_flight{model=\"slow\",version=\"1\"}", in: page) == 1
            })
        let body = Data(("{\"inputs\": [" + String(repeating: "1,", count: 50_000)).utf8)
        for route in ["/v1/models/slow/predict", "/v2/models/slow/infer"] {
            let client = try RawClient(daemon.url)
            try client.send(
                "POST \(route) HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: \(body.count)\r\n\r\n"
            )
            try client.send(body)
            #expect(try client.response().status == 503, "\(route)")
        }
        busy.close()
        #expect(daemon.stop() == 0)
    }
}
