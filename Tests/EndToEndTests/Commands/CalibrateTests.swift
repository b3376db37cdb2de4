import Foundation
import TestSupport
import Testing

/// `ocelli calibrate`, and answers with sets of labels: of the digits classifier, and of those of `../shared/data`,
/// which come with the values of numpy and SciPy.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct CalibrateTests {
    private static let examples = SharedData.packageRoot.appendingPathComponent("examples")
    /// Pictures of digits, by their labels.
    private static let pictures = [
        "0": "zero-colours.png", "1": "one-tall-canvas.png", "2": "two-thin-pen.png", "3": "three.png",
        "5": "five-small-on-wide-canvas.png", "7": "seven.png", "8": "eight-thick-brush.png",
    ]
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("calibrate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func clean() { try? FileManager.default.removeItem(at: folder) }

    private func run(_ arguments: [String]) throws -> Shell.Result {
        try Shell.run(Daemon.binary.path, arguments, directory: folder)
    }

    /// Copies the digits classifier to `models/digits`, and pictures with known labels to `held-out`.
    private func prepareDigits() throws {
        let files = FileManager.default
        try files.createDirectory(
            at: folder.appendingPathComponent("models"), withIntermediateDirectories: true)
        try files.copyItem(
            at: SharedData.packageRoot.appendingPathComponent("models/digits"),
            to: folder.appendingPathComponent("models/digits"))
        for (label, name) in Self.pictures {
            // A folder in the label's folder counts too.
            let place = folder.appendingPathComponent("held-out/\(label)/more")
            try files.createDirectory(at: place, withIntermediateDirectories: true)
            try files.copyItem(
                at: Self.examples.appendingPathComponent(name), to: place.appendingPathComponent(name))
        }
    }

    private var file: URL { folder.appendingPathComponent("models/digits/calibration.json") }

    private func calibration(_ file: URL) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
    }

    /// The confidences of all labels in an answer.
    private func confidences(_ answer: Answer) -> [String: Double] {
        Dictionary(
            answer.classifications.compactMap { one in
                guard let label = one["label"] as? String, let value = one["confidence"] as? Double else { return nil }
                return (label, value)
            }, uniquingKeysWith: { first, _ in first })
    }

    private func post(_ name: String, _ url: String, _ arguments: [String] = []) throws -> Answer {
        try Curl.post(Self.examples.appendingPathComponent(name), to: url, arguments)
    }

    @Test("scores are 1 - the uncalibrated confidence of the right label, and sets have the labels up to the threshold")
    func digits() throws {
        defer { clean() }
        try prepareDigits()
        let before = try Daemon(["--models", folder.appendingPathComponent("models").path])
        var raw: [String: [String: Double]] = [:]
        for (label, name) in Self.pictures {
            raw[label] = confidences(try post(name, before.url + "/v1/classify?top=10"))
        }
        let refused = try post("seven.png", before.url + "/v1/classify?coverage=0.9")
        #expect(refused.status == 400 && refused.code == "bad_request")
        #expect(refused.error.contains("`ocelli calibrate BUNDLE FOLDER`"), "\(refused.error)")
        #expect(before.stop() == 0)

        let made = try run(["calibrate", "models/digits", "held-out", "--json"])
        #expect(made.status == 0, "\(made.text)\(made.errors)")
        #expect(made.json["pictures"] as? Int == Self.pictures.count)
        let written = try calibration(file)
        #expect(written["format"] as? Int == 1 && written["pictures"] as? Int == Self.pictures.count)
        let model = folder.appendingPathComponent("models/digits/digits.onnx").path
        let digest = try Shell.run("sha256sum", [model]).text.prefix(64)
        #expect(written["model"] as? String == "sha256:\(digest)")
        let scores = try #require(written["scores"] as? [Double])
        let expected = Self.pictures.keys.map { 1 - (raw[$0]?[$0] ?? 0) }.sorted()
        #expect(zip(scores, expected).allSatisfy { abs($0 - $1) < 1e-5 } && scores.count == expected.count)

        let daemon = try Daemon(["--models", folder.appendingPathComponent("models").path])
        defer { daemon.stop() }
        let described = try Curl.run(daemon.url + "/v1/models/digits").json["calibration"] as? [String: Any]
        #expect(described?["pictures"] as? Int == Self.pictures.count)
        let temperature = try #require(written["temperature"] as? Double)
        #expect(described?["temperature"] as? Double == temperature)
        for (label, name) in Self.pictures {
            let own = try #require(raw[label])
            // Seven scores: of a coverage of 0.5 the fourth one; 0.9 has the eighth, which does not exist.
            let answer = try post(name, daemon.url + "/v1/classify?coverage=0.5&top=1")
            let set = try #require(answer.json["set"] as? [String], "\(answer.text)")
            #expect(answer.status == 200 && answer.classifications.count == 1)
            // A label at the threshold may be on either side of it, by the last digit.
            let (sure, possible) = (scores[3] - 1e-6, scores[3] + 1e-6)
            #expect(own.filter { 1 - $0.value < sure }.allSatisfy { set.contains($0.key) }, "\(answer.text)")
            #expect(set.allSatisfy { 1 - (own[$0] ?? 0) < possible }, "\(answer.text)")
            #expect(set == set.sorted { (own[$0] ?? 0) > (own[$1] ?? 0) })
            #expect(answer.json["abstain"] as? Bool == (set.count != 1))
            let all = try post(name, daemon.url + "/v1/classify?coverage=0.9&top=10&threshold=0")
            #expect((all.json["set"] as? [String])?.count == 10 && all.json["abstain"] as? Bool == true)
            // softmax(log p / T), in 64-bit numbers.
            let powers = own.mapValues { exp(log(max($0, 1e-45)) / temperature) }
            let sum = powers.values.reduce(0, +)
            for (other, confidence) in confidences(all) {
                #expect(abs(confidence - (powers[other] ?? 0) / sum) < 1e-4, "\(name) \(other)")
            }
        }
        let plain = try post("seven.png", daemon.url + "/v1/classify")
        #expect(plain.json["set"] == nil && plain.json["abstain"] == nil && plain.topLabel == "7")
        // Outputs of /predict are those of the model.
        let outputs = try post("seven.png", daemon.url + "/v1/models/digits/predict").json["outputs"] as? [String: Any]
        let probabilities = try #require(outputs?["probabilities"] as? [String: Double])
        for (label, value) in probabilities { #expect(abs(value - (raw["7"]?[label] ?? -1)) < 1e-5) }
    }

    @Test("coverage is taken from the query and from a form, for one picture and for several, and in both documents")
    func requests() throws {
        defer { clean() }
        try prepareDigits()
        #expect(try run(["calibrate", "models/digits", "held-out"]).status == 0)
        let daemon = try Daemon(["--models", folder.appendingPathComponent("models").path])
        defer { daemon.stop() }
        let seven = Self.examples.appendingPathComponent("seven.png").path
        let form = try Curl.run(
            daemon.url + "/v1/classify",
            ["-F", "image=@\(seven)", "-F", "image=@\(Self.examples.path)/three.png", "-F", "coverage=0.5"])
        let results = try #require(form.json["results"] as? [[String: Any]])
        #expect(results.count == 2 && results.allSatisfy { $0["set"] is [String] && $0["abstain"] is Bool })
        for wrong in ["0", "1", "1.5", "-0.5", "nan", "abc", "0x.8", ""] {
            let answer = try post("seven.png", daemon.url + "/v1/classify?coverage=\(wrong)")
            #expect(answer.status == 400 && answer.code == "bad_request", "\(wrong)")
            #expect(answer.error.contains("above 0 and below 1"), "\(answer.error)")
        }
        let labels = try post("seven.png", daemon.url + "/v1/models/digits/classify?coverage=0.5&labels=a,b")
        #expect(labels.status == 400 && labels.code == "invalid_input", "\(labels.text)")
        let predict = try post("seven.png", daemon.url + "/v1/models/digits/predict?coverage=0.5")
        #expect(predict.status == 400)
        let own = try Curl.run(daemon.url + "/v1/models/digits/openapi.json")
        let general = try Curl.run(daemon.url + "/openapi.json")
        for document in [own, general] { #expect(document.text.contains("\"coverage\"")) }
        let line = try run(["classify", "--models", "models", "--coverage", "0.5", "--json", seven])
        #expect(line.status == 0 && line.json["set"] is [String], "\(line.text)\(line.errors)")
        let text = try run(["classify", "--models", "models", "--coverage", "0.9", seven])
        #expect(text.text.contains("  set: ") && text.text.contains("(abstains: not one label)"), "\(text.text)")
        let check = try run(["check", "models/digits"])
        #expect(check.status == 0 && check.text.contains("calibrated by 7 pictures, temperature "), "\(check.text)")
    }

    @Test("an unknown label, no picture, a single model file and other models end with 1, and nothing is written")
    func refusals() throws {
        defer { clean() }
        try prepareDigits()
        let files = FileManager.default
        func refused(_ bundle: String, _ pictures: String, _ reason: String) throws {
            let result = try run(["calibrate", bundle, pictures])
            #expect(result.status == 1 && result.errors.contains(reason), "\(result.text)\(result.errors)")
            #expect(!files.fileExists(atPath: file.path))
        }
        try files.createDirectory(at: folder.appendingPathComponent("empty/7"), withIntermediateDirectories: true)
        try refused("models/digits", "empty", "have no pictures")
        try refused("models/digits", "models", "the model has no label \"digits\"")
        try files.createDirectory(at: folder.appendingPathComponent("bad/7"), withIntermediateDirectories: true)
        try Data("no picture".utf8).write(to: folder.appendingPathComponent("bad/7/one.png"))
        try refused("models/digits", "bad", "none of the pictures in bad can be used")
        try refused("models/digits", "nothing", "nothing cannot be read")
        try refused("models/nothing", "held-out", "does not exist")
        try refused("models/digits/digits.onnx", "held-out", "has no folder of its own")
        let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures").path
        try refused(fixtures + "/observations/embedder", "held-out", "cannot be calibrated")
        try refused(fixtures + "/exports/ending_sigmoid", "held-out", "the model has no label")
        #expect(try run(["calibrate", "models/digits"]).status == 2)
    }

    @Test("a picture that cannot be decoded is reported and left out, and the status is 1")
    func skipped() throws {
        defer { clean() }
        try prepareDigits()
        try Data("no picture".utf8).write(to: folder.appendingPathComponent("held-out/7/broken.png"))
        let result = try run(["calibrate", "models/digits", "held-out"])
        #expect(result.status == 1 && result.errors.contains("broken.png: "), "\(result.errors)")
        #expect(
            result.text.contains("digits: 7 pictures, ") && result.text.contains("models/digits/calibration.json"),
            "\(result.text)")
        #expect(try calibration(file)["pictures"] as? Int == Self.pictures.count)
    }

    @Test(
        "a calibration that is damaged or of another model makes the model failed, with the reason; a good one is read by a reload"
    )
    func reloads() throws {
        defer { clean() }
        try prepareDigits()
        let daemon = try Daemon(["--models", folder.appendingPathComponent("models").path])
        defer { daemon.stop() }
        var reloads = 1
        func reload() {
            reloads += 1
            daemon.signal(SIGHUP)
            #expect(eventually { daemon.log.components(separatedBy: "reload: done").count == reloads })
        }
        #expect(try run(["calibrate", "models/digits", "held-out"]).status == 0)
        reload()
        #expect(try post("seven.png", daemon.url + "/v1/classify?coverage=0.9").status == 200)
        let text = try String(contentsOf: file, encoding: .utf8)
        let digits = try #require(text.firstRange(of: "sha256:"))
        var other = text
        let first = digits.upperBound
        other.replaceSubrange(first...first, with: text[first] == "0" ? "1" : "0")
        let cases = [
            (other, "calibration.json: is of another model file"),
            (String(text.dropLast(9)), "calibration.json: is not valid JSON"),
            (
                text.replacingOccurrences(of: "\"temperature\":", with: "\"temperature\":-"),
                "\"temperature\": expected a number"
            ),
            ("{}", "\"format\": is missing"),
        ]
        for (damaged, reason) in cases {
            try Data(damaged.utf8).write(to: file)
            let check = try run(["check", "models/digits"])
            #expect(check.status == 1 && check.errors.contains(reason), "\(check.text)\(check.errors)")
            #expect(check.errors.contains("ocelli calibrate"), "\(check.errors)")
        }
        let failing = try Daemon(
            ["--models", folder.appendingPathComponent("models").path], waitUntilReady: false)
        #expect(
            try eventually {
                let model = try Curl.run(failing.url + "/v1/models/digits").json
                return model["state"] as? String == "failed"
                    && (model["reason"] as? String)?.contains("\"format\": is missing") == true
            })
        failing.stop()
        // A file of another model does not prevent a new calibration.
        try Data(other.utf8).write(to: file)
        let again = try run(["calibrate", "models/digits", "held-out"])
        #expect(again.status == 0, "\(again.errors)")
        #expect(try calibration(file)["model"] as? String == String(text[digits.lowerBound...].prefix(71)))
        reload()
        #expect(try post("seven.png", daemon.url + "/v1/classify?coverage=0.9").status == 200)
        try FileManager.default.removeItem(at: file)
        reload()
        #expect(try post("seven.png", daemon.url + "/v1/classify?coverage=0.9").status == 400)
    }

    private struct Expected: Decodable {
        struct Asked: Decodable {
            let file: String, confidences: [String: Double], sets: [String: [String]]
        }
        let temperature: Double, scores: [Double], asked: [Asked]
    }

    @Test(
        "temperature, scores, confidences and sets are those of numpy and SciPy",
        .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)), arguments: ["two", "four"])
    func shared(_ name: String) throws {
        defer { clean() }
        let data = try #require(SharedData.folder).appendingPathComponent("trust/calibration")
        let all = try JSONDecoder().decode(
            [String: Expected].self, from: Data(contentsOf: data.appendingPathComponent("expected.json")))
        let expected = try #require(all[name])
        let models = folder.appendingPathComponent("models")
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            at: data.appendingPathComponent(name), to: models.appendingPathComponent(name))
        let made = try run(["calibrate", "models/\(name)", data.appendingPathComponent("\(name)-pictures").path])
        #expect(made.status == 0, "\(made.text)\(made.errors)")
        #expect(made.text.contains("/v1/models/\(name)/classify?coverage=0.9"), "\(made.text)")
        let written = try calibration(models.appendingPathComponent("\(name)/calibration.json"))
        let temperature = try #require(written["temperature"] as? Double)
        #expect(abs(temperature - expected.temperature) < 1e-3)
        let scores = try #require(written["scores"] as? [Double])
        #expect(scores.count == expected.scores.count)
        #expect(zip(scores, expected.scores).allSatisfy { abs($0 - $1) < 1e-5 })
        let daemon = try Daemon(["--models", models.path])
        defer { daemon.stop() }
        for asked in expected.asked {
            for (coverage, set) in asked.sets {
                let answer = try Curl.post(
                    data.appendingPathComponent(asked.file),
                    to: daemon.url + "/v1/models/\(name)/classify?top=\(asked.confidences.count)&coverage=\(coverage)")
                #expect(answer.json["set"] as? [String] == set, "\(asked.file) \(coverage): \(answer.text)")
                #expect(answer.json["abstain"] as? Bool == (set.count != 1))
                let found = confidences(answer)
                #expect(found.count == asked.confidences.count)
                for (label, confidence) in asked.confidences {
                    #expect(abs((found[label] ?? -1) - confidence) < 1e-4, "\(asked.file) \(label)")
                }
            }
        }
    }
}
