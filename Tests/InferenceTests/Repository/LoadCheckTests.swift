import Foundation
import Inference
import Synchronization
import Testing

/// Load checks: the models that need one, and the effects of its outcome.
@Suite struct LoadCheckTests {
    /// Counts attempts, and returns a given outcome.
    private final class Attempts: Sendable {
        let paths = Mutex<[String]>([])
        let outcome: LoadCheck.Outcome

        init(_ outcome: LoadCheck.Outcome = .good(compiledAnew: true)) { self.outcome = outcome }

        var count: Int { paths.withLock { $0.count } }

        func trial(file: String? = nil, circumstances: String = UUID().uuidString) -> LoadCheck {
            LoadCheck(remembering: file, circumstances: circumstances) { path in
                self.paths.withLock { $0.append(path) }
                return self.outcome
            }
        }
    }

    private func load(_ path: String, _ trial: LoadCheck, engine: any Engine = FakeEngine()) async throws -> Model {
        var configuration = ModelConfiguration()
        configuration.engine = engine
        configuration.loadCheck = trial
        return try await Model.load(contentsOf: path, configuration: configuration)
    }

    @Test("a model file has one load check until its contents change")
    func aFileIsTriedOnceAsLongAsItIsTheSame() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(["m.onnx": "one"]) + "/m.onnx"
        let attempts = Attempts()
        let trial = attempts.trial()
        #expect(try await load(path, trial).loadReport.wasTried)
        #expect(try await !load(path, trial).loadReport.wasTried)
        #expect(attempts.paths.withLock { $0 } == [path])
        try folder.write(["m.onnx": "other"])
        #expect(try await load(path, trial).loadReport.wasTried)
        #expect(attempts.count == 2)
    }

    @Test("the time that a load check spent on comparing engines is in the report of the load")
    func theComparisonOfEnginesIsReported() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(["m.onnx": "one"]) + "/m.onnx"
        let outcome = LoadCheck.Outcome.good(compiledAnew: true, engineComparison: 7_000_000)
        let report = try await load(path, Attempts(outcome).trial()).loadReport
        #expect(report.triedEngineComparison == 7_000_000)
    }

    /// Without a cache folder, the process of the load check cannot pass on its decision on the engine.
    @Test(
        "a load that switches to the other engine reports the earlier load check, and starts no second one",
        arguments: [
            (LoadCheck.Outcome.good(compiledAnew: true, engineComparison: 7_000_000), true),
            (.impossible("no processes"), false),
        ])
    func theLoadCheckIsReportedAfterAChangeOfEngine(outcome: LoadCheck.Outcome, wasTried: Bool) async throws {
        let folder = try TemporaryFolder()
        // The decision on the engine is stored for the contents of a file.
        let path = try folder.write(["m.onnx": UUID().uuidString]) + "/m.onnx"
        let right = FakeEngine(answer: [Float](repeating: 1, count: 4).withUnsafeBytes { [UInt8]($0) })
        let engine = ChoosingEngine.between(FakeEngine(), right)
        let attempts = Attempts(outcome)
        let report = try await load(path, attempts.trial(), engine: engine).loadReport
        #expect(report.engine?.name == "onnxruntime", "\(report.engine?.reason ?? "")")
        #expect(report.wasTried == wasTried)
        #expect(report.loadCheckProblem == (wasTried ? nil : "no processes"))
        #expect(report.triedEngineComparison == (wasTried ? 7_000_000 : 0))
        #expect(attempts.count == 1)
    }

    @Test("passed load checks are remembered across processes, and a damaged record only means a new check")
    func theFileOfKnownModelsOutlivesTheProcessAndMayBeDamaged() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(["m.onnx": "", "cache/other": ""]) + "/m.onnx"
        let file = folder.url.path + "/cache/known.json"
        let attempts = Attempts()
        _ = try await load(path, attempts.trial(file: file, circumstances: "here"))
        // The state of another process: the same file, under circumstances that this process has not stored.
        let text = try String(contentsOfFile: file, encoding: .utf8)
        try text.replacingOccurrences(of: "here", with: "there").write(
            toFile: file, atomically: true, encoding: .utf8)
        _ = try await load(path, attempts.trial(file: file, circumstances: "there"))
        #expect(attempts.count == 1)
        _ = try await load(path, attempts.trial(file: file, circumstances: "elsewhere"))
        #expect(attempts.count == 2)
        for damaged in ["", "{", "[]", "{\"a\": 1}"] {
            try damaged.write(toFile: file, atomically: true, encoding: .utf8)
            let before = attempts.count
            _ = try await load(path, attempts.trial(file: file))
            #expect(attempts.count == before + 1, "\(damaged)")
        }
        // If the file is not writable, the result is not stored there.
        _ = try await load(path, attempts.trial(file: "/proc/no/such/place"))
    }

    @Test("a model that fails its load check is not read here, and is checked again at the next load")
    func whatFailedElsewhereIsNotLoadedHere() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(["m.onnx": ""]) + "/m.onnx"
        for (outcome, words) in [
            (.refused([BundleProblem(path: "model.file", reason: "is not a model")]), "model.file: is not a model"),
            (.lost("the engine crashed"), "the engine crashed"),
        ] as [(LoadCheck.Outcome, String)] {
            let engine = FakeEngine(onRead: { Issue.record("it was read") })
            let attempts = Attempts(outcome)
            let trial = attempts.trial()
            for _ in 0..<2 {
                let error = await #expect(throws: InferenceError.self) {
                    _ = try await load(path, trial, engine: engine)
                }
                #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
            }
            // A failure is not stored: the next attempt may find a complete file.
            #expect(attempts.count == 2)
        }
    }

    @Test("when a load check cannot run, the problem is reported and the model is loaded")
    func aFailedTrialProcessIsReportedAndTheModelLoaded() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(["m.onnx": ""]) + "/m.onnx"
        let report = try await load(path, Attempts(.impossible("no processes")).trial()).loadReport
        #expect(!report.wasTried && report.loadCheckProblem == "no processes")
    }
}
