import Foundation
import TestSupport
import Testing

/// `ocelli quantize`, with NNCF if OCELLI_TEST_NNCF names a Python that has it, otherwise with a substitute.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)))
struct QuantizeTests {
    private let work = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-q-\(UUID().uuidString)")
    private let pictures: URL

    /// Creates pictures of four colours, one folder each, which the fixtures' model distinguishes.
    init() throws {
        pictures = work.appendingPathComponent("pictures")
        let product = CoreMLFixtures.product
        for colour in ["blue", "gray", "green", "red"] {
            let folder = pictures.appendingPathComponent(colour)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            for index in 0..<4 {
                try FileManager.default.copyItem(
                    at: product.appendingPathComponent(colour + ".png"),
                    to: folder.appendingPathComponent("\(index).png"))
            }
        }
    }

    private func ocelli(_ arguments: [String]) throws -> Shell.Result {
        try Shell.run(Daemon.binary.path, arguments, environment: ["HOME": work.path, "XDG_DATA_HOME": ""])
    }

    /// A substitute for Python.
    private func program(_ text: String, named name: String = "program") throws -> String {
        let file = work.appendingPathComponent(name)
        try Data(
            "#!/usr/bin/env python3\nimport json, shutil, sys, time\njob = json.load(open(sys.argv[2]))\n\(text)\n".utf8
        )
        .write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
        return file.path
    }

    /// Returns the model unchanged, as if every layer had to stay in float.
    private static let copies = """
        assert len(job["calibration"]) >= 2 and all(open(path, "rb").read(6) == b"\\x93NUMPY" for path in job["calibration"])
        print(json.dumps({"step": "copying"}), flush=True)
        for end in ("xml", "bin"):
            shutil.copy(job["model"][:-3] + end, job["result"][:-3] + end)
        print(json.dumps({"done": {"layers": 1, "float": ["conv"], "nncf": "0", "openvino": "0"}}), flush=True)
        """

    private func leftovers() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: work.path).filter { $0.contains("quantizing") }
    }

    @Test("`ocelli quantize` writes a valid bundle, compares its answers, and replaces bundles by --force only")
    func theBundleIsWrittenAndServesAndIsCompared() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let output = work.appendingPathComponent("models/colors8")
        try FileManager.default.createDirectory(
            at: output.deletingLastPathComponent(), withIntermediateDirectories: true)
        let result = try ocelli([
            "quantize", CoreMLFixtures.product.appendingPathComponent("colors.mlmodel").path, "--pictures",
            pictures.path,
            "-o",
            output.path, "--python", program(Self.copies), "--at-least", "1", "--json",
        ])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.json["agreement"] as? Double == 1 && result.json["accuracy_after"] as? Double == 1)
        #expect(result.json["compared"] as? Int == 4 && result.json["float_layers"] as? [String] == ["conv"])
        #expect(
            Set(try FileManager.default.contentsOfDirectory(atPath: output.path))
                == ["model.json", "model.xml", "model.bin", "labels.txt"])
        #expect(try ocelli(["check", output.path]).status == 0)
        let again = try ocelli([
            "quantize", output.path, "--pictures", pictures.path, "-o", output.path, "--python", program(Self.copies),
        ])
        #expect(again.status == 1 && again.errors.contains("--force"), "\(again.errors)")
        let forced = try ocelli([
            "quantize", output.path, "--pictures", pictures.path, "-o", output.path, "--force", "--python",
            program(Self.copies),
        ])
        #expect(forced.status == 0, "\(forced.errors)")
        #expect(try ocelli(["check", output.path]).status == 0)
        // Only bundles are replaced.
        let other = try ocelli([
            "quantize", output.path, "--pictures", pictures.path, "-o", pictures.path, "--force", "--python",
            program(Self.copies),
        ])
        #expect(other.status == 1 && other.errors.contains("is not a bundle"), "\(other.errors)")
        #expect(FileManager.default.fileExists(atPath: pictures.path))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: output.deletingLastPathComponent().path) == ["colors8"])
        #expect(try leftovers().isEmpty)
    }

    @Test(
        "a quantizer that fails ends with status 1 and the reason, and leaves no files",
        arguments: [
            ("print(json.dumps({\"missing\": \"nncf\"}))", "pip install nncf"),
            ("print(json.dumps({\"error\": \"the model is quantized already\"}))", "the model is quantized already"),
            ("print(\"Traceback\"); sys.exit(3)", "exited with status 3: Traceback"),
            ("import os; os.kill(os.getpid(), 9)", "was killed by signal 9"),
            (
                "print(json.dumps({\"done\": {\"layers\": 1, \"float\": [], \"nncf\": \"0\", \"openvino\": \"0\"}}))",
                "model.xml"
            ),
        ])
    func aQuantizerThatFailsSaysWhyAndLeavesNothing(_ text: String, _ words: String) throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let output = work.appendingPathComponent("out").path
        let result = try ocelli([
            "quantize", CoreMLFixtures.product.appendingPathComponent("colors.mlmodel").path, "--pictures",
            pictures.path,
            "-o", output,
            "--python", program(text),
        ])
        #expect(result.status == 1 && result.errors.contains(words), "\(result.errors)")
        #expect(!FileManager.default.fileExists(atPath: output))
        #expect(try leftovers().isEmpty)
    }

    @Test("an interrupt ends `ocelli quantize` with status 130, its child processes and its files")
    func anInterruptEndsTheQuantizerAndWhatItStarted() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let started = work.appendingPathComponent("started")
        let text = """
            import os, subprocess
            child = subprocess.Popen(["sleep", "100"])
            open("\(started.path).part", "w").write(str(child.pid))
            os.rename("\(started.path).part", "\(started.path)")
            child.wait()
            """
        let process = Process()
        process.executableURL = Daemon.binary
        process.arguments = [
            "quantize", Self.model, "--pictures", pictures.path, "-o", work.appendingPathComponent("out").path,
            "--python", try program(text),
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        try #require(eventually { FileManager.default.fileExists(atPath: started.path) })
        let child = try #require(Int32(String(contentsOf: started, encoding: .utf8)))
        process.interrupt()
        process.waitUntilExit()
        #expect(process.terminationStatus == 130)
        #expect(
            eventually {
                // A process that has ended without being waited for is a zombie.
                let state = try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8)
                return state.map { $0.contains(") Z ") } ?? true
            })
        #expect(try leftovers().isEmpty)
    }

    private static let model = CoreMLFixtures.product.appendingPathComponent("colors.mlmodel").path

    @Test(
        "wrong arguments of `ocelli quantize` are refused with a message",
        arguments: [
            (["quantize"], "no model given"), (["quantize", "m"], "--pictures DIR and -o BUNDLE are needed"),
            (["quantize", "m", "--pictures", "p", "-o", "o", "--at-least", "2"], "0 to 1"),
            (["quantize", "m", "--pictures", "p", "-o", "o", "--count", "1"], "8 to 100000"),
            (
                ["quantize", Self.model, "--pictures", "/nowhere", "-o", "/nowhere/o", "--python", "/nowhere/python"],
                "is not a program"
            ),
            (
                ["quantize", Self.model, "--pictures", "/nowhere", "-o", "/nowhere/o", "--python", "/bin/true"],
                "/nowhere cannot be read"
            ),
            (
                ["quantize", "/nowhere/m.onnx", "--pictures", "/nowhere", "-o", "/nowhere/o", "--python", "/bin/true"],
                "/nowhere/m.onnx"
            ),
        ])
    func wrongUseIsAnError(_ arguments: [String], _ words: String) throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let result = try ocelli(arguments)
        #expect(result.status != 0 && result.errors.contains(words), "\(result.errors)")
    }

    /// Quantizes version 1 of a model into version 2 of it, and makes that the candidate.
    private func rollOut(quantizedBy python: String) throws -> [String: Any] {
        let models = try RolloutTests.Models([])
        for (source, target, program) in [
            (CoreMLFixtures.product.path + "/colors.mlmodel", "/1", try program(Self.copies, named: "copies")),
            (models.place.path + "/1", "/2", python),
        ] {
            let result = try ocelli([
                "quantize", source, "--pictures", pictures.path, "-o", models.place.path + target, "--python", program,
            ])
            #expect(result.status == 0, "\(result.errors)")
        }
        let plan =
            #"{"serve": "1", "candidate": {"version": "2", "shadow": 1}, "promote": {"after": 20, "agreement": 0.5}}"#
        try Data(plan.utf8).write(to: models.file)
        let daemon = try Daemon(["--models", models.folder.path])
        defer { daemon.stop() }
        #expect(try RolloutTests.version(daemon) == "1")
        let found = try RolloutTests.send(daemon) { $0 != "comparing" }
        #expect(try RolloutTests.version(daemon) == (found["state"] as? String == "promoted" ? "2" : "1"))
        return found
    }

    @Test("a quantized version that answers as the original does is promoted")
    func goodQuantizedVersion_isPromoted() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let found = try rollOut(quantizedBy: try program(Self.copies))
        #expect(found["state"] as? String == "promoted" && found["agreement"] as? Double == 1, "\(found)")
    }

    @Test("a quantized version with other answers is rolled back, and the original serves")
    func badQuantizedVersion_isRolledBack() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        // The weights' signs are inverted.
        let turned = """
            import struct
            path = job["result"][:-3] + "bin"
            data = open(path, "rb").read()
            numbers = struct.unpack(f"<{len(data) // 4}f", data[: len(data) // 4 * 4])
            turned = [-number if 1e-3 < abs(number) < 1e3 else number for number in numbers]
            open(path, "r+b").write(struct.pack(f"<{len(turned)}f", *turned))
            """
        let found = try rollOut(quantizedBy: try program(Self.copies + "\n" + turned))
        #expect(found["state"] as? String == "rolled_back" && found["agreement"] as? Double == 0, "\(found)")
    }

    @Test(
        "the digits model quantized by NNCF reads a seven, and is promoted in a rollout",
        .enabled(
            if: ProcessInfo.processInfo.environment["OCELLI_TEST_NNCF"] != nil,
            "needs NNCF: `OCELLI_TEST_NNCF=PYTHON make test TESTS=QuantizeTests`"))
    func theDigitsAreQuantizedByNNCF() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let python = try #require(ProcessInfo.processInfo.environment["OCELLI_TEST_NNCF"])
        let output = work.appendingPathComponent("digits8").path
        let root = SharedData.packageRoot
        let result = try ocelli([
            "quantize", root.appendingPathComponent("models/digits").path, "--pictures",
            root.appendingPathComponent("examples").path, "-o", output, "--python", python, "--json",
        ])
        #expect(result.status == 0, "\(result.errors)")
        #expect((result.json["layers"] as? Int ?? 0) > 0)
        let answer = try ocelli([
            "classify", "--models", output, "--json", root.appendingPathComponent("examples/seven.png").path,
        ])
        #expect(answer.text.contains("\"label\":\"7\""), "\(answer.text) \(answer.errors)")
        let found = try rollOut(quantizedBy: python)
        #expect(found["state"] as? String == "promoted", "\(found)")
    }
}
