import Foundation
import Synchronization
import TestSupport
import Testing

/// Model files that are broken or not models: each is refused with a reason, and the others are served.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct HostileModelTests {
    /// Serves the folder: each damaged model must be refused with a reason that names the file or has the engine's
    /// message, and the good one must answer.
    /// - Parameter isTried: whether each has a load check in a separate process; the reasons must be the same either
    ///   way.
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
            // A file that lost only data that the reader does not need may still be a model.
            if mayLoad, state == "ready" { continue }
            #expect(state == "failed", "\(name): \(json)")
            let reason = json["reason"] as? String ?? ""
            #expect(reason.contains(name), "\(name): \(reason)")
            // Some readers take an empty file as a model without content.
            let isReported =
                reason.contains("the engine could not read the model file")
                || reason.contains("the model file has no outputs")
            #expect(isReported, "\(name): \(reason)")
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

    /// Engines and the formats of files that they read themselves, by the extensions.
    static let engines: [(engine: String, suffix: String)] =
        TestEngines.names.map { ($0, $0 == "litert" ? "tflite" : "onnx") } + [("auto", "onnx"), ("auto", "tflite")]

    @Test(
        "an ONNX or TensorFlow Lite file cut at any sixteenth is refused with a reason, and a good model is served",
        arguments: engines)
    func truncatedAtEverySixteenth(engine: String, suffix: String) throws {
        let folder = try Folder(engine)
        let digits = suffix == "onnx" ? "models/digits/digits.onnx" : "Tests/Fixtures/litert/digits/model.tflite"
        let whole = try Data(contentsOf: SharedData.packageRoot.appendingPathComponent(digits))
        for part in 0..<16 { try folder.add("cut-\(part).\(suffix)", whole.prefix(whole.count * part / 16)) }
        // LiteRT crashes on some damaged files, and is given none in the daemon itself.
        try expectRefusals(folder, isTried: suffix == "tflite", engine: engine)
    }

    @Test(
        "TensorFlow Lite and ONNX files cut at any sixteenth load or are refused with a reason",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)),
        .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
    func sharedModelsTruncatedAtEverySixteenth() throws {
        let data = try #require(SharedData.folder), litert = TestEngines.hasLiteRT ? ["litert"] : []
        for (model, file, suffix, engines) in [
            ("cifar10_resnet_float", "model.tflite", "tflite", ["auto"] + litert),
            ("cifar10_resnet_int8", "model.tflite", "tflite", ["auto"] + litert),
            ("cifar10_cnn_onnx", "model.onnx", "onnx", ["auto"]),
        ] {
            for engine in engines {
                let folder = try Folder(engine)
                let whole = try Data(contentsOf: data.appendingPathComponent("models/\(model)/\(file)"))
                for part in 0..<16 { try folder.add("cut-\(part).\(suffix)", whole.prefix(whole.count * part / 16)) }
                try expectRefusals(folder, mayLoad: true, isTried: suffix == "tflite", engine: engine)
            }
        }
    }

    /// LiteRT, which reads TensorFlow Lite files too, has no such operator either, and gives its reason.
    @Test(
        "a TensorFlow Lite file or a SavedModel with an operator that no engine has is refused by the operator's name",
        arguments: [
            (
                "observations/ssd_fast", "model.tflite", "TFLite_Detection_PostProcess", "TFLite_Detection_PostProcesX",
                TestEngines.hasLiteRT ? ["OpenVINO: ", "LiteRT: "] : []
            ),
            ("exports/saved_model_keras", "saved_model.pb", "BiasAdd", "BiasXdd", []),
        ])
    func missingOperatorsOfOtherFormatsAreNamed(
        source: String, file: String, operation: String, other: String, engines: [String]
    ) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-lacks-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.copyItem(
            at: SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/" + source), to: folder)
        let changed = folder.appendingPathComponent(file)
        let text = try #require(String(data: try Data(contentsOf: changed), encoding: .isoLatin1))
        try #require(text.replacing(operation, with: other).data(using: .isoLatin1)).write(to: changed)
        let check = try Shell.run(Daemon.binary.path, ["check", folder.path])
        #expect(check.status != 0 && check.errors.contains(other), "\(check.text)\(check.errors)")
        for engine in engines { #expect(check.errors.contains(engine), "\(check.errors)") }
        if !engines.isEmpty {
            #expect(check.errors.contains("it does not have the operator \(other)"), "\(check.errors)")
        }
    }

    /// Whole files with some changed bytes, each tried on its engine in a separate process: the daemon continues
    /// in any case. MUTATED_FILES is the number of files for each engine.
    @Test(
        "ONNX and TensorFlow Lite files with changed bytes load or are refused, and the daemon still classifies",
        arguments: engines.filter { $0 != ("auto", "onnx") })
    func mutatedFilesDoNoHarm(engine: String, suffix: String) throws {
        let seed = SplitMix.seed(for: "mutated files")
        let sources = try Mutants.sources(for: engine, suffix)
        let wanted = ProcessInfo.processInfo.environment["MUTATED_FILES"].flatMap { Int($0) }
        let count = wanted ?? LongTests.times(12, long: 100), ofADaemon = 100
        let batches = stride(from: 0, to: count, by: ofADaemon).map { start in
            Mutants(
                engine: engine, suffix: suffix, range: start..<min(start + ofADaemon, count), sources: sources,
                seed: seed)
        }
        let found = Mutex(Mutants.Findings()), rest = Mutex(batches[...])
        // Two daemons, so that one loads while another starts or ends. Their threads wait for processes.
        let group = DispatchGroup()
        for _ in 0..<min(Mutants.daemons, batches.count) {
            group.enter()
            Thread.detachNewThread {
                defer { group.leave() }
                while let batch = rest.withLock({ $0.popFirst() }) {
                    let findings = batch.served()
                    found.withLock { $0.add(findings) }
                }
            }
        }
        group.wait()
        let findings = found.withLock { $0 }
        #expect(findings.problems.isEmpty, "seed \(seed): \(findings.problems.prefix(10).joined(separator: "\n"))")
        #expect(findings.states.values.reduce(0, +) == count, "seed \(seed): \(findings.states)")
        print("\(engine): of \(count) mutated \(suffix) files \(findings.text)")
    }
}

/// A folder with many damaged models and one good one.
private final class Folder {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-hostile-\(UUID().uuidString)")
    private(set) var names: [String] = []

    /// - Parameter engine: the engine that runs the good one; `auto` chooses.
    init(_ engine: String = "auto") throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        let digits = TestEngines.models(for: engine).appendingPathComponent("digits")
        try FileManager.default.copyItem(at: digits, to: url.appendingPathComponent("digits"))
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// Adds a bare model file.
    func add(_ name: String, _ bytes: Data) throws {
        names.append(String(name.prefix { $0 != "." }))
        try bytes.write(to: url.appendingPathComponent(name))
    }
}

/// Some mutated files, and their own daemon.
private struct Mutants: Sendable {
    /// The outcome: states, endings of load checks, and problems.
    struct Findings: Sendable {
        var states: [String: Int] = [:], endings: [String: Int] = [:]
        var problems: [String] = []

        var text: String {
            let parts = states.map { "\($1) are \($0)" }.sorted() + endings.map { "\($1): \($0)" }.sorted()
            return parts.joined(separator: ", ")
        }

        mutating func add(_ other: Findings) {
            states.merge(other.states, uniquingKeysWith: +)
            endings.merge(other.endings, uniquingKeysWith: +)
            problems += other.problems
        }
    }

    let engine: String
    /// The extension of the files.
    let suffix: String
    let range: Range<Int>
    let sources: [Data]
    let seed: UInt64

    /// The number of daemons at a time.
    static let daemons = 2
    private static let processors = ProcessInfo.processInfo.activeProcessorCount
    /// The memory limit of a load check in mebibytes: all of them together may take half of the machine's memory.
    private static let memory = min(
        2048, max(256, (ProcessInfo.processInfo.physicalMemory >> 21) / UInt64(daemons * processors)))

    /// The files to mutate: small ones, in which nearly every byte is structure, with operators of networks, quantized
    /// ones, loops of suppression and open shapes; and one of weights. Those of tables come first, if the engine runs
    /// them.
    static func sources(for engine: String, _ suffix: String) throws -> [Data] {
        if suffix == "tflite" { return try liteSources() }
        let tables = TabularTests.fixtures.appendingPathComponent("models")
        let names = try FileManager.default.contentsOfDirectory(atPath: tables.path).sorted()
        var files = engine == "onnxruntime" ? names.map { tables.appendingPathComponent($0) } : []
        let root = SharedData.packageRoot, fixtures = root.appendingPathComponent("Tests/Fixtures")
        files += [
            "families/yolox/model.onnx", "exports/segformer/model.onnx", "quantized/qdq.onnx",
            "observations/ultralytics_segment.onnx", "own-size/models/upscale/net.onnx", "families/nms_export.onnx",
            "pipelines/spots/model.onnx", "detectors/case16/model.onnx",
        ].map { fixtures.appendingPathComponent($0) }
        files.append(root.appendingPathComponent("models/digits/digits.onnx"))
        return [ONNXFile.slow(layers: 3, side: 16, window: 3).bytes] + (try files.map { try Data(contentsOf: $0) })
    }

    /// TensorFlow Lite files to mutate: signed and unsigned bytes, final detections, weights, and an operator that only
    /// LiteRT runs.
    private static func liteSources() throws -> [Data] {
        let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures")
        let weights = fixtures.appendingPathComponent("integer-weights")
        let names = try FileManager.default.contentsOfDirectory(atPath: weights.path).sorted()
        let files =
            names.filter { $0.hasSuffix(".tflite") }.map { weights.appendingPathComponent($0) }
            + [
                "tensorio/picture-normalized.tiobundle/model.tflite",
                "tensorio/quantized-signed-range.tiobundle/model.tflite",
                "tensorio/matrices-2-in-2-out.tiobundle/model.tflite", "observations/ssd_fast/model.tflite",
                "litert/digits/model.tflite",
            ].map { fixtures.appendingPathComponent($0) }
        return [1, 12].map { TFLiteModel.slow(layers: 3, side: 16, window: 3, pooling: $0).bytes }
            + (try files.map { try Data(contentsOf: $0) })
    }

    /// A file by its number, which depends only on the seed.
    private func mutant(_ index: Int) -> Data {
        var random = SplitMix(seed: seed &+ UInt64(index)), bytes = sources[index % sources.count]
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
        return bytes
    }

    /// Serves the files, with as many concurrent loads as there are processors. It runs on a thread outside the test,
    /// so it has no expectations.
    func served() -> Findings {
        var findings = Findings()
        do {
            let folder = try Folder(engine)
            for index in range { try folder.add("mutant-\(index).\(suffix)", mutant(index)) }
            let daemon = try Daemon(
                [
                    "--models", folder.url.path, "--cache-dir", "", "--access-log=false", "--engine", engine,
                    "--max-loads", "\(Self.processors)", "--load-trial-timeout", "20s",
                    "--load-trial-memory", "\(Self.memory)MiB",
                ], waitUntilReady: false)
            defer { daemon.stop() }
            let words = ["ready after ", "not every model is ready"]
            let isSettled = eventually(within: 1_800, every: 0.1) {
                let log = daemon.log
                return words.contains { log.contains($0) } || kill(daemon.pid, 0) != 0
            }
            if !isSettled { findings.problems.append("\(range): not every model is loaded or refused") }
            let models = try Curl.run(daemon.url + "/v1/models").json["models"] as? [[String: Any]] ?? []
            let states = models.reduce(into: [String: String]()) {
                $0[$1["name"] as? String ?? ""] = $1["state"] as? String
            }
            for name in folder.names {
                let state = states[name] ?? "not listed"
                if state != "ready", state != "failed" { findings.problems.append("\(name): \(state)") }
                findings.states[state, default: 0] += 1
            }
            let answer = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/models/digits/classify")
            if answer.topLabel != "7" { findings.problems.append("\(range): \(answer.text)") }
            let status = daemon.stop(), log = daemon.log
            if status != 0 { findings.problems.append("\(range): status \(status): \(log.suffix(2_000))") }
            // Each of them must have been tried in its own process.
            if log.contains("was loaded without a load check") {
                findings.problems.append("\(range): not every file had a load check")
            }
            for line in log.split(separator: "\n") where line.contains("could not be loaded: ") {
                for ending in ["the engine crashed", "was killed", "still loading it", "it needed more than"]
                where line.contains(ending) {
                    findings.endings[ending, default: 0] += 1
                }
            }
        } catch {
            findings.problems.append("\(range): \(error)")
        }
        return findings
    }
}
