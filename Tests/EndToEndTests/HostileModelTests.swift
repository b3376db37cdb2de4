import Foundation
import TestSupport
import Testing

/// Model files that are none, or no longer whole: refused with a reason, one by one, and the others are served.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct HostileModelTests {
    /// One folder with many damaged models and one good one.
    private final class Folder {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-hostile-\(UUID().uuidString)")
        private(set) var names: [String] = []

        init() throws {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            let digits = SharedData.packageRoot.appendingPathComponent("models/digits")
            try FileManager.default.copyItem(at: digits, to: url.appendingPathComponent("digits"))
        }

        deinit { try? FileManager.default.removeItem(at: url) }

        /// Adds a bare model file.
        func add(_ name: String, _ bytes: Data) throws {
            names.append(String(name.prefix { $0 != "." }))
            try bytes.write(to: url.appendingPathComponent(name))
        }
    }

    /// Serves the folder: each damaged model is refused with a reason that names the file or what the engine said, and
    /// the good one answers.
    /// - Parameter isTried: whether each is tried in a separate process before; the words must be the same either way.
    private func expectRefusals(
        _ folder: Folder, mayLoad: Bool = false, isTried: Bool, engine: String = "auto"
    ) throws {
        let daemon = try Daemon([
            "--models", folder.url.path, "--cache-dir", "", "--access-log=false", "--load-trial=\(isTried)",
            "--engine", engine,
        ])
        for name in folder.names {
            let json = try Curl.run(daemon.url + "/v1/models/\(name)").json
            let state = json["state"] as? String
            // A file that lost only what the reader does not need may still be a model.
            if mayLoad, state == "ready" { continue }
            #expect(state == "failed", "\(name): \(json)")
            let reason = json["reason"] as? String ?? ""
            #expect(reason.contains(name), "\(name): \(reason)")
            // To some readers an empty file is a model, of nothing.
            let isTold =
                reason.contains("the engine could not read the model file: ")
                || reason.contains("the model file has no outputs")
            #expect(isTold, "\(name): \(reason)")
            #expect(!reason.contains("\n") && reason.count < 1_000, "\(name): \(reason)")
            let isLogged = daemon.log.contains("model \(name) version 1 could not be loaded: ")
            #expect(isLogged, "\(name)")
        }
        let answer = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/models/digits/classify")
        #expect(answer.topLabel == "7", "\(answer.text)")
        #expect(daemon.stop() == 0, "\(daemon.log.suffix(2_000))")
    }

    @Test("model files of random bytes are refused with a reason, and a good model is served")
    func modelFile_ofRandomBytes_isRefused() throws {
        let seed = UInt64.random(in: .min ... .max)
        print("random bytes: seed \(seed)")
        var state = seed
        let folder = try Folder()
        for (index, suffix) in ["onnx", "tflite", "xml", "pdmodel", "pb"].enumerated() {
            for size in [0, 1, 4, 64, 1_000, 100_000] {
                let bytes = Data(
                    (0..<size).map { _ in
                        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                        return UInt8(truncatingIfNeeded: state >> 56)
                    })
                try folder.add("random-\(index)-\(size).\(suffix)", bytes)
            }
        }
        try expectRefusals(folder, isTried: true)
    }

    @Test(
        "an ONNX file cut at any sixteenth of its length is refused with a reason, and a good model is served",
        arguments: ["auto"] + TestEngines.names)
    func truncatedAtEverySixteenth(engine: String) throws {
        let folder = try Folder()
        let whole = try Data(contentsOf: SharedData.packageRoot.appendingPathComponent("models/digits/digits.onnx"))
        for part in 0..<16 { try folder.add("cut-\(part).onnx", whole.prefix(whole.count * part / 16)) }
        try expectRefusals(folder, isTried: false, engine: engine)
    }

    @Test(
        "TensorFlow Lite and ONNX files cut at any sixteenth load or are refused with a reason",
        .enabled(if: LongTests.areAskedFor, Comment(rawValue: LongTests.absence)),
        .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
    func sharedModelsTruncatedAtEverySixteenth() throws {
        let data = try #require(SharedData.folder)
        for (model, file, suffix) in [
            ("cifar10_resnet_float", "model.tflite", "tflite"), ("cifar10_resnet_int8", "model.tflite", "tflite"),
            ("cifar10_cnn_onnx", "model.onnx", "onnx"),
        ] {
            let folder = try Folder()
            let whole = try Data(contentsOf: data.appendingPathComponent("models/\(model)/\(file)"))
            for part in 0..<16 { try folder.add("cut-\(part).\(suffix)", whole.prefix(whole.count * part / 16)) }
            try expectRefusals(folder, mayLoad: true, isTried: false)
        }
    }

    /// OpenVINO alone reads these formats: what it lacks, nobody has.
    @Test(
        "a TensorFlow Lite file or a SavedModel with an operator that OpenVINO lacks is refused by the operator's name",
        arguments: [
            (
                "observations/ssd_fast", "model.tflite", "TFLite_Detection_PostProcess", "TFLite_Detection_PostProcesX"
            ),
            ("exports/saved_model_keras", "saved_model.pb", "BiasAdd", "BiasXdd"),
        ])
    func missingOperatorsOfOtherFormatsAreNamed(source: String, file: String, operation: String, other: String) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-lacks-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.copyItem(
            at: SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/" + source), to: folder)
        let changed = folder.appendingPathComponent(file)
        let text = try #require(String(data: try Data(contentsOf: changed), encoding: .isoLatin1))
        try #require(text.replacing(operation, with: other).data(using: .isoLatin1)).write(to: changed)
        let check = try Shell.run(Daemon.binary.path, ["check", folder.path])
        #expect(check.status != 0 && check.text.contains(other), "\(check.text)\(check.errors)")
    }

    /// Whole ONNX files with some bytes changed, each tried on its engine in a separate process: whatever comes of it,
    /// the daemon goes on. MUTATED_FILES is the number of files for each engine: ten thousand take an hour.
    @Test(
        "ONNX files with changed bytes load or are refused, and the daemon still classifies",
        arguments: TestEngines.names)
    func mutatedONNXFilesDoNoHarm(engine: String) throws {
        let seed = UInt64.random(in: .min ... .max)
        print("mutated files: seed \(seed)")
        var random = SplitMix(seed: seed)
        var sources = [ONNXFile.slow(layers: 3, side: 16, window: 3).bytes]
        let models = TabularTests.fixtures.appendingPathComponent("models")
        for name in try FileManager.default.contentsOfDirectory(atPath: models.path).sorted()
        where engine == "onnxruntime" {
            sources.append(try Data(contentsOf: models.appendingPathComponent(name)))
        }
        sources.append(try Data(contentsOf: SharedData.packageRoot.appendingPathComponent("models/digits/digits.onnx")))
        let wanted = ProcessInfo.processInfo.environment["MUTATED_FILES"].flatMap { Int($0) }
        let count = wanted ?? LongTests.times(12, long: 100), atOnce = min(count, 100)
        var states: [String: Int] = [:]
        for start in stride(from: 0, to: count, by: atOnce) {
            let folder = try Folder()
            for index in start..<min(start + atOnce, count) {
                var bytes = sources[index % sources.count]
                for _ in 0...(random.next() % 6) {
                    let place = Int(random.next() % UInt64(bytes.count))
                    switch random.next() % 4 {
                    case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
                    case 1: bytes[place] ^= 1 << UInt8(random.next() % 8)
                    case 2: bytes[place] = [0, 0x7F, 0x80, 0xFF][Int(random.next() % 4)]
                    default: bytes.removeSubrange(place..<min(bytes.count, place + Int(random.next() % 9)))
                    }
                    if bytes.isEmpty { break }
                }
                try folder.add("mutant-\(index).onnx", bytes)
            }
            let daemon = try Daemon([
                "--models", folder.url.path, "--cache-dir", "", "--access-log=false", "--engine", engine,
                "--load-trial-timeout", "20s",
                "--load-trial-memory", "2GiB",
            ])
            for name in folder.names {
                let json = try Curl.run(daemon.url + "/v1/models/\(name)").json
                let state = json["state"] as? String ?? ""
                #expect(state == "ready" || state == "failed", "seed \(seed): \(json)")
                states[state, default: 0] += 1
            }
            let answer = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/models/digits/classify")
            #expect(answer.topLabel == "7", "seed \(seed): \(answer.text)")
            #expect(daemon.stop() == 0, "seed \(seed): \(daemon.log.suffix(2_000))")
        }
        print("\(engine): of \(count) mutated files \(states["ready"] ?? 0) load, \(states["failed"] ?? 0) are refused")
    }
}
