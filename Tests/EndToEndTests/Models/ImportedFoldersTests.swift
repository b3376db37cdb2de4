import Foundation
import TestSupport
import Testing

/// Downloaded folders without a model.json: the facts, the model's tensor and the labels, compared with
/// ../shared/data/import/cases.json, which transformers and Pillow made.
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)), .serialized)
struct ImportedFoldersTests {
    private struct Cases: Decodable {
        let cases: [String: Case]
        init(from decoder: any Decoder) throws { cases = try [String: Case](from: decoder) }
    }

    private struct Case: Decodable {
        let labels: [String]?
        let pictures: [String: Picture]
    }

    private struct Picture: Decodable {
        let shape: [Int]
        let samples: [[Double]]
        let top: Top

        enum CodingKeys: String, CodingKey {
            case shape, samples
            case top = "softmax_top"
        }
    }

    private struct Top: Decodable {
        let index: Int
        let confidence: Double
    }

    /// The 32-bit floats of a .npy file.
    private static func floats(_ npy: Data) throws -> [Float] {
        let header = Int(npy[8]) | Int(npy[9]) << 8
        return Data(npy[(10 + header)...]).withUnsafeBytes { bytes in
            (0..<bytes.count / 4).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: Float.self) }
        }
    }

    @Test("downloaded folders without model.json give the tensors and classes of transformers and Pillow")
    func everyFolderClassifiesAsItsOriginal() throws {
        let data = try #require(SharedData.folder)
        let folder = data.appendingPathComponent("import")
        let all = try JSONDecoder().decode(
            Cases.self, from: try Data(contentsOf: folder.appendingPathComponent("cases.json"))
        ).cases
        #expect(all.count >= 13)
        // Ultralytics' LetterBox scales with OpenCV, not with Pillow like these cases.
        let letterboxed = try JSONDecoder().decode(
            [String: [String: [[Double]]]].self,
            from: try Data(
                contentsOf: SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/letterbox.json")))
        #expect(letterboxed.count == 3)
        let daemon = try Daemon(["--models", folder.path])
        for (name, expected) in LongTests.every(3, of: all.sorted { $0.key < $1.key }) {
            let described = try Curl.run(daemon.url + "/v1/models/\(name)", [])
            #expect(described.json["state"] as? String == "ready", "\(name): \(described.text.prefix(600))")
            let facts = described.json["facts"] as? [String: [String: Any]]
            #expect(facts?["normalize.mean"]?["from"] is String, "\(name)")
            for (path, picture) in expected.pictures {
                let file = data.appendingPathComponent(path)
                let shown = try Curl.post(file, to: daemon.url + "/v1/models/\(name)/classify?explain=npy")
                #expect(shown.status == 200, "\(name): \(shown.text.prefix(300))")
                let tensor = try Self.floats(shown.body)
                #expect(tensor.count == picture.shape.reduce(1, *))
                let (height, width) = (picture.shape[2], picture.shape[3])
                func value(_ sample: [Double]) -> Double {
                    Double(tensor[(Int(sample[0]) * height + Int(sample[1])) * width + Int(sample[2])])
                }
                if let samples = letterboxed[name]?[path] {
                    // Levels of the float tensor; OpenCV rounds to whole ones, in fixed-point arithmetic.
                    for sample in samples {
                        #expect(abs(value(sample) * 255 - sample[3]) <= 1.001, "\(name) \(path) \(sample)")
                    }
                } else {
                    // The samples are rounded to 4 digits.
                    for sample in picture.samples {
                        #expect(abs(value(sample) - sample[3]) <= 6e-5, "\(name) \(path) \(sample)")
                    }
                }
                let answer = try Curl.post(file, to: daemon.url + "/v1/models/\(name)/classify")
                guard expected.labels != nil else {
                    #expect(answer.status == 400 && answer.error.contains("(\"labels\")"), "\(name): \(answer.text)")
                    continue
                }
                let first = (answer.json["classifications"] as? [[String: Any]])?.first
                #expect(first?["index"] as? Int == picture.top.index, "\(name) \(path): \(answer.text.prefix(300))")
                let confidence = first?["confidence"] as? Double ?? 0
                let slack = letterboxed[name] == nil ? 1e-3 : 0.02
                #expect(abs(confidence - picture.top.confidence) < slack, "\(name) \(path)")
            }
        }
        daemon.stop()
    }

    /// A single folder, given as the models folder; and the metadata inside a TensorFlow Lite file.
    @Test("a downloaded folder is served as --models, and a TensorFlow Lite file by its own metadata")
    func oneFolderAloneAndAFileThatSaysItself() throws {
        let data = try #require(SharedData.folder)
        let single = try Daemon(["--models", data.appendingPathComponent("import/vit").path])
        let pets = data.appendingPathComponent("things/pictures/pets.jpg")
        #expect(try Curl.post(pets, to: single.url + "/v1/classify").topLabel == "actinic_keratoses")
        single.stop()

        let daemon = try Daemon(["--models", data.appendingPathComponent("import").path])
        let model = daemon.url + "/v1/models/mobilenet_v1_metadata/classify"
        // tflite.json of the shared data: Pillow's bilinear, which averages.
        for (picture, label, confidence) in [("burger", "cheeseburger", 0.99), ("parrot", "macaw", 0.955)] {
            let answer = try Curl.post(data.appendingPathComponent("images/\(picture).jpg"), to: model)
            #expect(answer.topLabel == label, "\(answer.text)")
            let first = (answer.json["classifications"] as? [[String: Any]])?.first
            #expect(abs((first?["confidence"] as? Double ?? 0) - confidence) < 0.05)
        }
        daemon.stop()
    }

    @Test("a damaged preprocessor_config.json is reported with its place, and the model is served as tensors")
    func aBrokenSourceIsReported() throws {
        let data = try #require(SharedData.folder)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-facts-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let bundle = folder.appendingPathComponent("vit")
        try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
        for file in ["model.onnx", "config.json"] {
            try FileManager.default.copyItem(
                at: data.appendingPathComponent("import/vit/\(file)"), to: bundle.appendingPathComponent(file))
        }
        let text = try Data(contentsOf: data.appendingPathComponent("import/vit/preprocessor_config.json"))
        try text.prefix(120).write(to: bundle.appendingPathComponent("preprocessor_config.json"))
        // A file of labels with other names for the classes.
        try Data("a\nb\nc\nd\ne\nf\ng\n".utf8).write(to: bundle.appendingPathComponent("labels.txt"))
        let daemon = try Daemon(["--models", folder.path])
        let described = try Curl.run(daemon.url + "/v1/models/vit", [])
        let remarks = (described.json["remarks"] as? [String] ?? []).joined(separator: "\n")
        #expect(remarks.contains("preprocessor_config.json: is not valid JSON: line "), "\(described.text)")
        #expect(remarks.contains("labels: config.json and labels.txt name the classes differently; config.json wins"))
        #expect((described.json["inputs"] as? [[String: Any]])?.first?["type"] as? String == "array")
        let pets = data.appendingPathComponent("things/pictures/pets.jpg")
        let answer = try Curl.post(pets, to: daemon.url + "/v1/models/vit/classify")
        #expect(answer.status == 400 && answer.error.contains("(\"normalize\")"), "\(answer.text)")
        daemon.stop()
        let written = try Shell.run(
            Daemon.binary.path, ["check", folder.path],
            environment: ["XDG_CACHE_HOME": Daemon.cache.path])
        let shown = String(decoding: written.output, as: UTF8.self)
        #expect(
            shown.contains("not specified: how pixels are normalized (\"normalize\")"),
            "\(written.status) \(shown) \(written.errors)")
    }
}
