import Foundation
import TestSupport

extension SettingsCase {
    private static let digits = SharedData.packageRoot.appendingPathComponent("models/digits")

    private static func blobs(_ running: Running) -> [String] {
        let folder = running.folder.appendingPathComponent("cache").path
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { $0.hasSuffix(".blob") }
    }

    /// A named model, and a default folder without models, which must not keep the daemon from being ready.
    static let named = SettingsCase(
        title: "models with a name of their own",
        settings: ["model": "cats=\(digits.path)", "ready_when": "cats"], also: ["models": "{}/models"],
        prepare: { folder in
            let broken = folder.appendingPathComponent("models/broken")
            try FileManager.default.createDirectory(at: broken, withIntermediateDirectories: true)
            try Data("{}".utf8).write(to: broken.appendingPathComponent("model.json"))
        },
        checks: [
            "model": { running in
                let answer = try Curl.post(BadInputTests.seven, to: running.url + "/v1/models/cats/classify")
                return unless(answer.json["model"] as? String == "cats", answer.text)
            },
            "ready_when": { running in
                let answer = try Curl.run(running.url + "/readyz")
                return unless(answer.status == 200, answer.text)
            },
        ])

    /// Settings of the models: their folders, the time of their loads, and their caches.
    static let models = SettingsCase(
        title: "models and their cache",
        settings: [
            "models": "{}/models", "default_model": "second", "load": "lazy", "idle_unload": "1s",
            "external_links": "true",
            "repository_control": "none", "cache_dir": "{}/cache", "cache_size": "1MB",
        ],
        prepare: { folder in
            for name in ["first", "second"] {
                let target = folder.appendingPathComponent("models/\(name)")
                try FileManager.default.createDirectory(
                    at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
                try FileManager.default.copyItem(at: digits, to: target)
            }
            // A bundle with its labels in another place.
            let labels = folder.appendingPathComponent("models/second/labels.txt")
            try FileManager.default.moveItem(at: labels, to: folder.appendingPathComponent("labels.txt"))
            try FileManager.default.createSymbolicLink(
                at: labels, withDestinationURL: folder.appendingPathComponent("labels.txt"))
            let cache = folder.appendingPathComponent("cache")
            try FileManager.default.createDirectory(at: cache, withIntermediateDirectories: true)
            try Data(count: 2_000_000).write(to: cache.appendingPathComponent("old.blob"))
        },
        checks: [
            "models": { running in
                let models = try Curl.run(running.url + "/v1/models").json["models"] as? [[String: Any]] ?? []
                let names = models.compactMap { $0["name"] as? String }
                return unless(names == ["first", "second"], "\(names)")
            },
            "load": { running in
                let models = try Curl.run(running.url + "/v1/models").json["models"] as? [[String: Any]] ?? []
                let states = models.compactMap { $0["state"] as? String }
                return unless(!states.isEmpty && states.allSatisfy { $0 == "unloaded" }, "\(states)")
            },
            "cache_size": { running in
                unless(!blobs(running).contains("old.blob"), "\(blobs(running)) is more than 1 MB")
            },
            "default_model": { running in
                let answer = try Curl.post(BadInputTests.seven, to: running.url + "/v1/classify")
                return unless(answer.json["model"] as? String == "second", answer.text)
            },
            "external_links": { running in
                let answer = try Curl.post(BadInputTests.seven, to: running.url + "/v1/models/second/classify")
                return unless(answer.status == 200, answer.text)
            },
            "cache_dir": { running in
                _ = try Curl.post(BadInputTests.seven, to: running.url + "/v1/classify")
                return unless(blobs(running).contains { $0 != "old.blob" }, "\(blobs(running))")
            },
            "idle_unload": { running in
                _ = try Curl.post(BadInputTests.seven, to: running.url + "/v1/classify")
                return unless(running.daemon.waitForLog("it was idle"), "it is still loaded")
            },
            "repository_control": { running in
                let answer = try Curl.run(
                    running.url + "/v2/repository/models/first/load", ["-X", "POST", "--data", "{}"])
                return unless(answer.status == 403, answer.text)
            },
        ])

    private static func execution(_ running: Running) throws -> [String: Any] {
        try running.model()["execution"] as? [String: Any] ?? [:]
    }

    /// The engine as it reports itself, rather than as configured.
    static let engine = SettingsCase(
        title: "the engine",
        settings: ["threads": "1", "instances": "5", "hint": "latency", "precision": "bf16"],
        checks: [
            "threads": { running in
                // On a machine with one processor one thread is the default too.
                let threads = try execution(running)["threads"] as? Int
                return unless(threads == 1, "\(String(describing: threads)) threads")
            },
            "instances": { running in
                let instances = try running.model()["instances"] as? Int
                return unless(instances == 5, "\(String(describing: instances))")
            },
            "hint": { running in
                let hint = try execution(running)["hint"] as? String
                return unless(hint == "latency", "\(String(describing: hint))")
            },
            "precision": { running in
                let devices = try Shell.run(Daemon.binary.path, ["devices"]).text
                let precision = try execution(running)["precision"] as? String
                // Without hardware support, f32 is used: the engine would only emulate the other precision.
                return unless(
                    precision == (devices.contains("BF16") ? "bf16" : "f32"), "\(String(describing: precision))")
            },
        ])

    static let integerWeights = SettingsCase(
        title: "8-bit weights in integers", settings: ["integer_weights": "false"], also: ["models": "{}/models"],
        prepare: { folder in
            let file = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/integer-weights/mobilenet.tflite")
            let models = folder.appendingPathComponent("models")
            try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
            try FileManager.default.copyItem(at: file, to: models.appendingPathComponent("mobilenet.tflite"))
        },
        checks: [
            "integer_weights": { running in
                let model = try Curl.run(running.url + "/v1/models/mobilenet").json
                return unless(
                    model["state"] as? String == "ready" && model["integer_weights"] == nil, "\(model)")
            }
        ])

    static let streams = SettingsCase(
        title: "the engine's streams", settings: ["streams": "1"], also: ["threads": "2"],
        checks: [
            "streams": { running in
                let streams = try execution(running)["streams"] as? Int
                return unless(streams == 1, "\(String(describing: streams)) streams")
            }
        ])

    static let singleStream = SettingsCase(
        title: "single-stream requests", settings: ["lone_threads": "2"], also: ["threads": "2", "streams": "2"],
        checks: [
            "lone_threads": { running in
                _ = try Curl.post(BadInputTests.seven, to: running.url + "/v1/classify")
                func state() throws -> String? {
                    (try execution(running)["lone"] as? [String: Any])?["state"] as? String
                }
                // With one processor the engine has one thread for every request.
                let expected = ProcessInfo.processInfo.activeProcessorCount > 1 ? "ready" : "failed"
                let isSo = eventually { (try? state()) == expected }
                let found = try state()
                return unless(isSo, "\(String(describing: found))")
            }
        ])

    static let device = SettingsCase(
        title: "the engine's device", settings: ["device": "NOSUCH"],
        checks: [
            "device": { running in
                let reason = try running.model()["reason"] as? String ?? ""
                // After a reload the previous model continues to serve, and the log has the reason.
                let isReported = running.daemon.log.split(separator: "\n").contains {
                    $0.contains("could not be loaded") && $0.contains("NOSUCH")
                }
                return unless(
                    reason.contains("NOSUCH") || isReported, "the model is ready on another device: \(reason)")
            }
        ])

    static let onnxRuntime = SettingsCase(
        title: "ONNX Runtime's library",
        settings: ["engine": "onnxruntime", "onnxruntime_path": "/nowhere/libonnxruntime.so"],
        checks: [
            // The library does not exist. Without `engine` the model runs on the other engine; without
            // `onnxruntime_path`, on the library that is installed with Ocelli.
            "engine": { running in
                let model = try running.model()
                let engine = (model["engine"] as? [String: Any])?["name"] as? String
                // A failed reload leaves the serving model, with the reason why it is stale.
                let reason = (model["reason"] ?? model["stale"]) as? String ?? ""
                return unless(
                    reason.contains("ONNX Runtime") && (engine != "openvino" || running.logStart > 0), "\(model)")
            },
            "onnxruntime_path": { running in
                let reason = try running.model()["reason"] as? String ?? ""
                return unless(reason.contains("/nowhere/libonnxruntime.so"), "the model does not ask for it: \(reason)")
            },
        ])

    static let liteRT = SettingsCase(
        title: "LiteRT's library", settings: ["litert_path": "/nowhere/libLiteRt.so"],
        also: own.merging(["engine": "litert"]) { first, _ in first },
        prepare: { try put(export: "yolo_classify_tflite", in: $0) },
        checks: [
            "litert_path": { running in
                let reason =
                    try Curl.run(running.url + "/v1/models/yolo_classify_tflite").json["reason"] as? String ?? ""
                return unless(reason.contains("/nowhere/libLiteRt.so"), "the model does not ask for it: \(reason)")
            }
        ])

    /// Only OpenVINO reads the model's format.
    static let unconfirmed = SettingsCase(
        title: "unconfirmed models are refused", settings: ["unconfirmed": "refuse"], also: own,
        prepare: { try put(export: "model_api_classification", in: $0) },
        checks: [
            "unconfirmed": { running in
                let model = try Curl.run(running.url + "/v1/models/model_api_classification").json
                let reason = model["reason"] as? String ?? ""
                return unless(
                    model["state"] as? String == "failed" && reason.contains("not confirmed"), "it serves: \(model)")
            }
        ])

    private static let own = ["models": "{}/models", "cache_dir": "{}/cache"]

    /// Adds a model of Tests/Fixtures/exports to a case's folder of models.
    private static func put(export name: String, in folder: URL) throws {
        let models = folder.appendingPathComponent("models")
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            at: SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/exports/\(name)"),
            to: models.appendingPathComponent(name))
    }

    private static func put(_ name: String, _ bytes: Data?, in folder: URL) throws {
        let models = folder.appendingPathComponent("models")
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        let target = models.appendingPathComponent(name)
        if let bytes { try bytes.write(to: target) } else { try FileManager.default.copyItem(at: digits, to: target) }
    }

    static let watched = SettingsCase(
        title: "a watched folder", settings: ["repository_poll": "200ms"], also: own,
        prepare: { try put("digits", nil, in: $0) },
        checks: [
            "repository_poll": { running in
                // Moved in as a whole, as documented: a copy in progress has another name.
                let models = running.folder.appendingPathComponent("models")
                try FileManager.default.copyItem(at: digits, to: models.appendingPathComponent(".another"))
                try FileManager.default.moveItem(
                    at: models.appendingPathComponent(".another"), to: models.appendingPathComponent("another"))
                _ = running.daemon.waitForLog("model another version 1 is ready")
                let state = try Curl.run(running.url + "/v1/models/another").json["state"] as? String
                return unless(state == "ready", "after 5 s: \(String(describing: state))")
            }
        ])

    /// The rollout of a model without numbered versions is in the folder.
    static let kept = SettingsCase(
        title: "rollouts are kept", settings: ["state_dir": "{}/state", "keep_differences": "true"], also: own,
        prepare: { folder in
            try put("digits", nil, in: folder)
            for version in ["1", "2"] {
                let target = folder.appendingPathComponent("models/ten/\(version)")
                try FileManager.default.createDirectory(
                    at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
                try FileManager.default.copyItem(at: digits, to: target)
            }
            // Other names: every answer differs.
            let labels = folder.appendingPathComponent("models/ten/2/labels.txt")
            try Data("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n".utf8).write(to: labels)
        },
        checks: [
            "state_dir": { running in
                let plan = ["-X", "PUT", "--data", "{\"serve\": \"1\"}"]
                let answer = try Curl.run(running.url + "/v1/models/digits/rollout", plan)
                let file = running.folder.appendingPathComponent("state/rollouts/digits.json").path
                return unless(answer.status == 200 && FileManager.default.fileExists(atPath: file), answer.text)
            },
            "keep_differences": { running in
                let plan = "{\"serve\": \"1\", \"candidate\": {\"version\": \"2\", \"shadow\": 1}}"
                let set = try Curl.run(running.url + "/v1/models/ten/rollout", ["-X", "PUT", "--data", plan])
                let kept = running.folder.appendingPathComponent("state/differences/ten").path
                for _ in 0..<100 {
                    _ = try Curl.post(BadInputTests.seven, to: running.url + "/v1/models/ten/classify")
                    let names = (try? FileManager.default.contentsOfDirectory(atPath: kept)) ?? []
                    if names.contains(where: { $0.count == 64 }) { return nil }
                    usleep(50_000)
                }
                return "no picture in \(kept): \(set.text)"
            },
        ])

    static let untried = SettingsCase(
        title: "models are not tried", settings: ["load_trial": "false"], also: own,
        prepare: { try put("digits", nil, in: $0) },
        checks: [
            "load_trial": { running in
                let log = running.daemon.log
                return unless(log.contains("digits version 1 is ready") && !log.contains("of it a load check"), log)
            }
        ])

    static let triedInLittleMemory = SettingsCase(
        title: "models are tried in little memory", settings: ["load_trial_memory": "16MiB"], also: own,
        prepare: { try put("digits", nil, in: $0) },
        checks: [
            "load_trial_memory": { running in
                let model = try running.model()
                return unless(model["state"] as? String == "failed" && model["reason"] is String, "\(model)")
            }
        ])

    static let triedForAMoment = SettingsCase(
        title: "models are tried for a moment", settings: ["load_trial_timeout": "300ms"], also: own,
        prepare: { try put("endless.onnx", LoadCheckTests.endless, in: $0) },
        checks: [
            "load_trial_timeout": { running in
                let reason = try Curl.run(running.url + "/v1/models/endless").json["reason"] as? String ?? ""
                return unless(reason.contains("still loading it after"), reason)
            }
        ])

    /// Two models that never finish loading: with one load at a time the other's load check has not begun.
    static let twoAtOnce = SettingsCase(
        title: "two models are loaded at once", settings: ["max_loads": "2"],
        also: own.merging(["load": "lazy", "load_trial_timeout": "20s"]) { first, _ in first },
        prepare: { folder in
            for name in ["a.onnx", "b.onnx"] { try put(name, LoadCheckTests.endless, in: folder) }
        },
        checks: [
            "max_loads": { running in
                for name in ["a", "b"] {
                    _ = try? Curl.run(running.url + "/v2/models/\(name)/infer", ["--data", "{}", "--max-time", "0.3"])
                }
                let checks = { running.daemon.children.count }
                return unless(eventually { checks() == 2 }, "\(checks()) load checks")
            }
        ])
}
