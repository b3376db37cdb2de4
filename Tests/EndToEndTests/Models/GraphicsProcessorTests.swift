import Foundation
import TestSupport
import Testing

/// GPUs, with a library that replaces onnxruntime-gpu at the boundary of its API: these tests do not run on a GPU.
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(if: TabularTests.hasEngine, TabularTests.engineAbsence),
    .serialized)
final class GraphicsProcessorTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
        "ocelli-gpu-\(UUID().uuidString)")
    private var library: String { folder.path + "/libonnxruntime.so.1" }

    init() throws {
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("models/mean"), withIntermediateDirectories: true)
        let source = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/onnxruntime/gpu-stand-in.c").path
        let built = try Shell.run("clang", ["-shared", "-fPIC", "-o", library, source, "-ldl"])
        try #require(built.status == 0, "\(built.errors)")
        try ONNXFile.slow(layers: 2, side: 16, window: 3).bytes.write(
            to: folder.appendingPathComponent("models/mean/mean.onnx"))
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// The environment of the replacement library.
    private func environment(_ mode: String) -> [String: String] {
        ["STANDIN_LIBRARY": TabularTests.library.path, "STANDIN_MODE": mode, "STANDIN_LOG": folder.path + "/log"]
    }

    /// A daemon with a model; its bundle names a device.
    private func daemon(_ device: String, mode: String, arguments: [String] = []) throws -> Daemon {
        let json = """
            { "name": "mean", "id": "mean", "version": "1", "model": { "file": "mean.onnx", "backend": "onnx" },
              "inputs": [ { "name": "image", "type": "array", "shape": [1, 3, 16, 16] } ],
              "outputs": [ { "name": "mean", "type": "array", "shape": [1, 3, 1, 1] } ],
              "runtime": { "device": \(device) } }
            """
        try Data(json.utf8).write(to: folder.appendingPathComponent("models/mean/model.json"))
        return try Daemon(
            ["--models", folder.path + "/models", "--cache-dir", "", "--onnxruntime-path", library] + arguments,
            environment: environment(mode))
    }

    private func model(_ daemon: Daemon) throws -> [String: Any] { try Curl.run(daemon.url + "/v1/models/mean").json }

    private func predict(_ daemon: Daemon) throws -> Answer {
        let values = [String](repeating: "2", count: 768).joined(separator: ",")
        return try Curl.run(
            daemon.url + "/v1/models/mean/predict", ["--data-binary", "@-"],
            input: Data("{\"inputs\": {\"image\": [\(values)]}}".utf8))
    }

    @Test("device gpu:1 in a bundle opens CUDA device 1, and status, metrics and answers name the device")
    func aModelRunsOnTheGraphicsProcessorThatItsBundleNames() throws {
        let daemon = try daemon("\"gpu:1\"", mode: "works")
        defer { daemon.stop() }
        let model = try model(daemon)
        #expect(model["state"] as? String == "ready" && model["device"] as? String == "gpu:1", "\(model)")
        #expect((model["engine"] as? [String: Any])?["name"] as? String == "onnxruntime", "\(model)")
        let asked = try String(contentsOfFile: folder.path + "/log", encoding: .utf8)
        // Newer libraries would send telemetry.
        for line in [
            "device_id 1", "append CUDA", "session.disable_cpu_ep_fallback 1", "gpu_mem_limit ",
            "ORT_DISABLE_TELEMETRY 1\n",
        ] {
            #expect(asked.contains(line), "\(asked)")
        }
        let answer = try predict(daemon)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.headers["server-timing"]?.contains("desc=\"gpu:1\"") == true, "\(answer.headers)")
        let metrics = try Curl.run(daemon.url + "/metrics").text
        #expect(metrics.contains("engine=\"onnxruntime\",device=\"gpu:1\"} 1"))
        #expect(try Curl.run(daemon.url + "/readyz").text.contains("gpu:1"))
    }

    /// A GPU that cannot be used must not be replaced silently.
    @Test(
        "a model whose GPU cannot be used fails with the reason, and never runs on the CPU instead",
        arguments: [("no-driver", "Failed to load shared library"), ("falls-back", "fallback")])
    func aModelThatCannotRunThereFails(mode: String, words: String) throws {
        let daemon = try daemon("\"gpu:0\"", mode: mode)
        defer { daemon.stop() }
        let model = try model(daemon)
        #expect(model["state"] as? String == "failed", "\(model)")
        #expect((model["reason"] as? String ?? "").contains(words), "\(model)")
        #expect(try predict(daemon).status == 503)
        #expect(try Curl.run(daemon.url + "/readyz").status == 503)
    }

    @Test("devices gpu:0 and cpu in a list: without a driver the model runs on the CPU, and the log has the reason")
    func aListNamesWhatIsTakenInstead() throws {
        let daemon = try daemon("[\"gpu:0\", \"cpu\"]", mode: "no-driver")
        defer { daemon.stop() }
        let model = try model(daemon)
        #expect(model["state"] as? String == "ready" && model["device"] as? String == "CPU", "\(model)")
        #expect(try predict(daemon).status == 200)
        #expect(daemon.log.contains("gpu:0: Failed to load shared library"), "\(daemon.log)")
    }

    @Test("a library of a too old version is refused, and the reason names both versions")
    func anOlderLibraryIsRefused() throws {
        let daemon = try daemon("\"gpu:0\"", mode: "old")
        defer { daemon.stop() }
        let reason = try model(daemon)["reason"] as? String ?? ""
        #expect(reason.contains("it is version 1.17.3, and 1.18 or a newer 1.x is needed"), "\(reason)")
    }

    @Test("`ocelli devices` lists ONNX Runtime on the processor, and a GPU only if one can be used")
    func devicesAreThoseThatCanBeUsed() throws {
        func devices(_ flags: [String] = [], mode: String) throws -> Shell.Result {
            try Shell.run(Daemon.binary.path, ["devices"] + flags, environment: environment(mode))
        }
        for (flags, mode, hasGPU) in [
            // The library that is installed with Ocelli.
            ([], "works", false), (["--onnxruntime-path", library], "works", true),
            (["--onnxruntime-path", folder.path], "works", true),
            (["--onnxruntime-path", library], "no-driver", false),
        ] as [([String], String, Bool)] {
            let result = try devices(flags, mode: mode)
            let text = result.text
            #expect(result.status == 0, "\(flags) \(mode): \(result.errors)")
            #expect(
                text.contains("ONNX Runtime ") && text.contains("on the processor"), "\(flags) \(mode): \(text)")
            #expect(text.contains("\ngpu:0  ONNX Runtime ") == hasGPU, "\(flags) \(mode): \(text)")
        }
        // The daemon's settings file applies to both commands.
        let settings = folder.appendingPathComponent("ocelli.json5")
        try Data("{ onnxruntime_path: \"\(library)\" }".utf8).write(to: settings)
        let configured = try devices(["--config", settings.path], mode: "works").text
        #expect(configured.contains("\ngpu:0  ONNX Runtime "), "\(configured)")
        let gone = try devices(["--onnxruntime-path", folder.path + "/gone.so"], mode: "works")
        #expect(gone.status == 1 && gone.errors.contains("gone.so is neither a file nor a folder"), "\(gone.errors)")
    }

    /// The script for machines with a GPU; nvidia-smi is replaced too.
    @Test(
        "scripts/gpu-check passes where the GPU answers as the CPU, and fails where it cannot be used",
        .enabled(
            if: (try? Shell.run("python3", ["-c", "import numpy"]).status) == 0, "python3 has no numpy"),
        arguments: ["works", "no-driver"])
    func theScriptForRealHardwareRuns(mode: String) throws {
        let programs = folder.appendingPathComponent("bin")
        try FileManager.default.createDirectory(at: programs, withIntermediateDirectories: true)
        let smi = programs.appendingPathComponent("nvidia-smi")
        try Data("#!/bin/sh\necho 0, none\n".utf8).write(to: smi)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: smi.path)
        var variables = environment(mode)
        variables["PATH"] = programs.path + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "")
        variables["OCELLI_BINARY"] = Daemon.binary.path
        variables["ONNXRUNTIME_GPU"] = folder.path
        let script = SharedData.packageRoot.appendingPathComponent("scripts/gpu-check").path
        let result = try Shell.run("timeout", ["120", script], environment: variables)
        #expect((result.status == 0) == (mode == "works"), "\(result.text)\(result.errors)")
        #expect(result.text.contains("gpu-check: PASS") == (mode == "works"), "\(result.text)\(result.errors)")
    }

    /// The library that is installed with Ocelli has no CUDA, and OpenVINO has no such device.
    @Test("a model for a GPU fails with the reason if no engine has CUDA", arguments: ["auto", "openvino"])
    func withoutCUDAItIsSaid(engine: String) throws {
        let daemon = try daemon("\"gpu:0\"", mode: "works", arguments: ["--onnxruntime-path", "", "--engine", engine])
        defer { daemon.stop() }
        let reason = try model(daemon)["reason"] as? String ?? ""
        #expect(reason.contains(engine == "auto" ? "built without CUDA" : "gpu:0"), "\(reason)")
    }
}
