import Foundation
import TestSupport
import Testing

/// Folders in the export formats of libraries (`Tests/Fixtures/exports`, made by
/// `Tests/FixtureMakers/make-export-fixtures`): served without a model.json, and with the one written by `ocelli init`.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct ExportedFoldersTests {
    private static let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/exports")

    private static func cases() throws -> [(name: String, expected: [String: Any])] {
        let text = try Data(contentsOf: folder.appendingPathComponent("expected.json"))
        let all = try #require(try JSONSerialization.jsonObject(with: text) as? [String: [String: Any]])
        return all.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    @Test(
        "each exported folder is served without model.json, with the facts, remarks and answers expected",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)))
    func everyExportIsServedAsItSays() throws {
        let daemon = try Daemon(["--models", Self.folder.path])
        defer { daemon.stop() }
        for (name, expected) in try Self.cases() {
            let described = try Curl.run(daemon.url + "/v1/models/\(name)", [])
            #expect(described.json["state"] as? String == "ready", "\(name): \(described.text.prefix(600))")
            let facts = described.json["facts"] as? [String: [String: Any]] ?? [:]
            for (key, source) in expected["facts"] as? [String: String] ?? [:] {
                #expect(facts[key]?["from"] as? String == source, "\(name), \(key): \(described.text)")
            }
            for (key, value) in expected["values"] as? [String: NSObject] ?? [:] {
                #expect(facts[key]?["value"] as? NSObject == value, "\(name), \(key): \(described.text)")
            }
            let missing = described.json["missing"] as? [String] ?? [],
                remarks = described.json["remarks"] as? [String] ?? []
            if let remark = expected["remark"] as? String {
                #expect(remarks.contains { $0.contains(remark) }, "\(name): \(remarks)")
            } else if expected["what"] as? String != "tensors" {
                #expect(remarks.isEmpty, "\(name): \(remarks)")
            }
            guard expected["what"] as? String == "tensors" else {
                #expect(missing.isEmpty, "\(name): \(missing)")
                try check(name, expected, daemon)
                continue
            }
            let words = try #require(expected["missing"] as? String)
            #expect(missing.contains { $0.contains(words) }, "\(name): \(missing)")
            let picture = Self.folder.appendingPathComponent("picture.png")
            for route in ["classify", "detect"] {
                #expect(try Curl.post(picture, to: daemon.url + "/v1/models/\(name)/\(route)").status == 400, "\(name)")
            }
        }
        // The log has the reason why a model is served as tensors.
        #expect(daemon.log.contains("model yolo_misfit version 1 is served as tensors: it has no model.json, and"))
    }

    /// With the time in front; the values with their sources are lines of the level debug.
    @Test("the log of a load has short lines, and at the level debug each value with its source")
    func theLinesOfALoadAreShort() throws {
        let model = "rt_detr=" + Self.folder.appendingPathComponent("rt_detr").path
        let value =
            "model rt_detr version 1: outputs.layout \"detr\" from config.json (architectures: RTDetrV2ForObjectDetection)"
        let short = try Daemon(["--model", model])
        short.stop()
        let lines = short.log.split(separator: "\n").filter { $0.contains("model rt_detr") }
        #expect(
            lines.contains {
                $0.contains("model rt_detr version 1 has no model.json: ") && $0.contains(" values from ")
            })
        #expect(lines.count >= 3 && lines.allSatisfy { $0.count <= 200 + 40 }, "\(lines)")
        #expect(!short.log.contains(value))
        let whole = try Daemon(["--model", model, "--log-level", "debug"])
        #expect(whole.log.contains(value), "\(whole.log)")
        whole.stop()
    }

    /// `sources.tsv`: for one folder of each kind of source, every fact with its file and key, read from the files by
    /// hand.
    @Test(
        "each fact of an exported folder names the file and the key that it was read from",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)))
    func everyFactNamesItsFileAndItsKey() throws {
        let text = try String(contentsOf: Self.folder.appendingPathComponent("sources.tsv"), encoding: .utf8)
        var wanted: [String: [String: [String]]] = [:]
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: "\t").map(String.init)
            try #require(fields.count == 4, "\(line)")
            wanted[fields[0], default: [:]][fields[1]] = [fields[2], fields[3]]
        }
        #expect(wanted.count >= 12)
        let daemon = try Daemon(["--models", Self.folder.path])
        defer { daemon.stop() }
        for (name, expected) in wanted.sorted(by: { $0.key < $1.key }) {
            let facts =
                try Curl.run(daemon.url + "/v1/models/\(name)", []).json["facts"] as? [String: [String: Any]] ?? [:]
            let found = facts.mapValues { [$0["from"] as? String ?? "", $0["key"] as? String ?? ""] }
            for key in Set(found.keys).union(expected.keys).sorted() {
                #expect(found[key] == expected[key], "\(name), \(key)")
            }
        }
    }

    /// The written model.json has a source on each line, leaves nothing to decide, and gives the same answers.
    @Test(
        "`ocelli init` writes a finished model.json for exported folders, which then answer as expected",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)))
    func initWritesWhatIsServed() throws {
        let models = FileManager.default.temporaryDirectory.appendingPathComponent(
            "ocelli-exports-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: models) }
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        let cases = try Self.cases().filter { $0.expected["what"] as? String != "tensors" }
        for (name, _) in cases {
            let bundle = models.appendingPathComponent(name)
            try FileManager.default.copyItem(at: Self.folder.appendingPathComponent(name), to: bundle)
            let drafted = try Shell.run(Daemon.binary.path, ["init", bundle.path])
            #expect(drafted.status == 0, "\(name): \(drafted.errors)")
            let text = try String(contentsOf: bundle.appendingPathComponent("model.json"), encoding: .utf8)
            #expect(!text.contains("$decide") && text.contains("// from "), "\(name): \(text)")
        }
        let daemon = try Daemon(["--models", models.path])
        defer { daemon.stop() }
        for (name, expected) in cases {
            let described = try Curl.run(daemon.url + "/v1/models/\(name)", [])
            #expect(described.json["state"] as? String == "ready", "\(name): \(described.text.prefix(600))")
            try check(name, expected, daemon)
        }
        let checked = try Shell.run(
            Daemon.binary.path, ["check", models.path], environment: ["XDG_CACHE_HOME": Daemon.cache.path])
        #expect(checked.status == 0, "\(checked.text)\(checked.errors)")
    }

    /// If the file does not say whether its output is probabilities or logits, `init` runs the model and notes its
    /// finding in a comment; the answers with that model.json are right.
    @Test("`ocelli init` runs a model to tell logits from probabilities, and notes the result in model.json")
    func initLooksAtWhatTheOutputsAre() throws {
        let models = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-look-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: models) }
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        let cases = try Self.cases().filter { $0.expected["init"] is [String: Any] }
        #expect(cases.count >= 9)
        var served: [(name: String, expected: [String: Any])] = []
        for (name, expected) in cases {
            let bundle = models.appendingPathComponent(name)
            try FileManager.default.copyItem(at: Self.folder.appendingPathComponent(name), to: bundle)
            // A folder without a configuration was not downloaded, so its file is given.
            let hasLabels = FileManager.default.fileExists(atPath: bundle.path + "/config.json")
            let drafted = try Shell.run(
                Daemon.binary.path, ["init", hasLabels ? bundle.path : bundle.path + "/model.onnx"])
            #expect(drafted.status == 0, "\(name): \(drafted.errors)")
            let text = try String(contentsOf: bundle.appendingPathComponent("model.json"), encoding: .utf8)
            let wanted = try #require(expected["init"] as? [String: Any])
            if let comment = wanted["comment"] as? String {
                #expect(
                    text.contains("from model.onnx: a warm-up on noise, ") && text.contains(comment), "\(name): \(text)"
                )
                #expect(!text.contains("$decide"), "\(name): \(text)")
                served.append((name, ["what": "classify", "top": wanted["top"] ?? []]))
            } else if let words = wanted["decide"] as? String {
                let mark =
                    text.split(separator: "\n").first { $0.contains("$decide") && $0.contains("activation") } ?? ""
                #expect(mark.contains(words), "\(name): \(text)")
            }
            if let word = wanted["never"] as? String { #expect(!text.contains(word), "\(name): \(text)") }
        }
        let daemon = try Daemon(["--models", models.path])
        defer { daemon.stop() }
        for (name, expected) in served { try check(name, expected, daemon) }
    }

    /// A model that takes too long or too much memory, or must not be run, is still described.
    @Test(
        "`ocelli init` describes a model that it cannot run, leaves its activation open and says why",
        arguments: [
            ("OCELLI_LOAD_TRIAL_MEMORY", "16MiB", "load_trial_memory"),
            ("OCELLI_LOAD_TRIAL", "false", "load_trial is off"),
        ])
    func aModelThatCannotBeRunIsDescribed(_ setting: String, _ value: String, _ words: String) throws {
        let bundle = Self.folder.appendingPathComponent("hidden_softmax_mean")
        let drafted = try Shell.run(
            Daemon.binary.path, ["init", "--stdout", bundle.path], environment: [setting: value])
        #expect(drafted.status == 0, "\(drafted.errors)")
        #expect(drafted.text.contains("activation: softmax (or sigmoid), if the file gives logits"), "\(drafted.text)")
        #expect(drafted.text.contains("\"labels\": \"labels.txt\""), "\(drafted.text)")
        #expect(
            drafted.errors.contains("a run on noise failed: ") && drafted.errors.contains(words),
            "\(drafted.errors)")
    }

    private func check(_ name: String, _ expected: [String: Any], _ daemon: Daemon) throws {
        let route = try #require(expected["what"] as? String), model = daemon.url + "/v1/models/\(name)/"
        if route == "pixels" { return try pixels(name, expected, model) }
        let answer = try Curl.post(Self.folder.appendingPathComponent("picture.png"), to: model + route)
        #expect(answer.status == 200, "\(name): \(answer.text)")
        switch route {
        case "classify":
            let top = try #require(expected["top"] as? [Any])
            #expect(answer.topLabel == top[0] as? String, "\(name): \(answer.text)")
            #expect(abs(answer.topConfidence - (top[1] as? Double ?? 0)) < 1e-4, "\(name): \(answer.text)")
        case "detect":
            let found = try #require(answer.json["detections"] as? [[String: Any]])
            let wanted = try #require(expected["found"] as? [[String: Any]])
            #expect(found.count == wanted.count, "\(name): \(answer.text)")
            // For boxes in pixels of the picture, and for confidences.
            let tolerance = expected["tolerance"] as? [Double] ?? [1e-2, 1e-4]
            for (one, other) in zip(found, wanted) {
                #expect(one["label"] as? String == other["label"] as? String, "\(name): \(answer.text)")
                let confidence = other["confidence"] as? Double ?? -1
                #expect(abs((one["confidence"] as? Double ?? 0) - confidence) < tolerance[1], "\(name): \(answer.text)")
                let box = try #require(one["box"] as? [String: Double]), sides = try #require(other["box"] as? [Double])
                for (key, side) in zip(["x", "y", "width", "height"], sides) {
                    #expect(abs((box[key] ?? -1) - side) < tolerance[0], "\(name): \(answer.text)")
                }
                if let points = expected["points"] as? [[Double]] {
                    let keypoints = try #require(one["keypoints"] as? [[String: Any]], "\(name)")
                    #expect(
                        keypoints.map { [$0["x"] as? Double ?? -1, $0["y"] as? Double ?? -1] } == points, "\(name)")
                }
                if expected["masks"] != nil { #expect(one["mask"] != nil, "\(name): \(answer.text)") }
            }
        case "segment":
            let segments = try #require(answer.json["segments"] as? [[String: Any]])
            let areas = try #require(expected["areas"] as? [String: Double])
            #expect(Set(segments.compactMap { $0["label"] as? String }) == Set(areas.keys), "\(name): \(segments)")
            for segment in segments {
                let area = areas[segment["label"] as? String ?? ""] ?? 0
                // The edge between two columns of cells is half a cell wide.
                #expect(abs((segment["area"] as? Double ?? 0) - area) <= area * 0.02, "\(name): \(segments)")
            }
        default:
            let vector = try #require(answer.json["embedding"] as? [Double]),
                wanted = expected["embedding"] as? [Double] ?? []
            #expect(vector.count == wanted.count, "\(name)")
            for (one, other) in zip(vector, wanted) { #expect(abs(one - other) < 1e-5, "\(name)") }
        }
    }

    /// The expected tensor was made from the picture by timm's transforms with Pillow.
    private func pixels(_ name: String, _ expected: [String: Any], _ model: String) throws {
        let mean = try #require(expected["mean"] as? [Double]), count = try #require(expected["pictures"] as? Int)
        let original = [UInt8](try Data(contentsOf: Self.folder.appendingPathComponent("\(name)/expected.rgb")))
        for place in 0..<count {
            let shown = try Curl.post(
                Self.folder.appendingPathComponent("wave\(place).png"), to: model + "classify?explain=npy")
            #expect(shown.status == 200, "\(name): \(shown.text.prefix(300))")
            let header = Int(shown.body[8]) | Int(shown.body[9]) << 8
            let values = Data(shown.body[(10 + header)...]).withUnsafeBytes { bytes in
                (0..<bytes.count / 4).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: Float.self) }
            }
            let plane = values.count / 3, start = place * values.count
            #expect(original.count == values.count * count, "\(name)")
            var worst = 0.0
            for index in values.indices {
                let level = (Double(values[index]) + mean[index / plane]) * 255
                let wanted = original[start + (index % plane) * 3 + index / plane]
                worst = max(worst, abs(level - Double(wanted)))
            }
            #expect(worst < 0.01, "\(name), picture \(place): \(worst)")
        }
    }
}
