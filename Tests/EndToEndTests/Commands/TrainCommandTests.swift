import Foundation
import TestSupport
import Testing

/// `ocelli train`, with TensorFlow if TEST_TENSORFLOW names a Python that has it, or the first one on the path has it,
/// otherwise with a substitute.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)))
struct TrainCommandTests {
    private static let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/training")
    /// A Python with TensorFlow.
    private static let tensorFlow: String? = {
        let named = ProcessInfo.processInfo.environment["TEST_TENSORFLOW"] ?? "python3"
        let asked = try? Shell.run("/usr/bin/env", [named, "-c", "import sys, tensorflow; print(sys.executable)"])
        guard let asked, asked.status == 0 else { return nil }
        return asked.text.split(separator: "\n").last.map(String.init)
    }()
    private let work = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-t-\(UUID().uuidString)")
    private var output: URL { work.appendingPathComponent("trained.tiobundle") }

    init() throws { try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true) }

    private func train(
        _ bundle: String, epochs: Int = 10, python: String, _ more: [String] = [], batch: String? = nil
    ) throws -> Shell.Result {
        try Shell.run(
            Daemon.binary.path,
            [
                "train", bundle, batch ?? Self.folder.appendingPathComponent("batch.jsonl").path, "--epochs",
                "\(epochs)", "-o",
                output.path, "--python", python,
            ] + more)
    }

    private var bundle: String { Self.folder.appendingPathComponent("cats-vs-dogs.tiobundle").path }

    private func losses(_ result: Shell.Result) -> [Double] {
        (result.json["epochs"] as? [[String: Any]])?.compactMap { $0["sigmoid_cross_entropy_loss/value"] as? Double }
            ?? []
    }

    /// A substitute that checks the job, reports two epochs, and writes variables.
    private func substitute(_ text: String) throws -> String {
        let file = work.appendingPathComponent("python")
        try Data(
            "#!/usr/bin/env python3\nimport json, os, sys, time\njob = json.load(open(sys.argv[2]))\n\(text)\n".utf8
        ).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
        return file.path
    }

    @Test(
        "`ocelli train` has TensorFlow's own losses, and a trained bundle continues where training ended",
        .enabled(if: Self.tensorFlow != nil, "no Python has TensorFlow: TEST_TENSORFLOW names one that has"))
    func lossesAreTensorFlowsOwn() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let python = try #require(Self.tensorFlow)
        let text = try Data(contentsOf: Self.folder.appendingPathComponent("expected.json"))
        let wanted = try #require(try JSONDecoder().decode([String: [Double]].self, from: text)["losses"])
        let before = try Data(
            contentsOf: URL(fileURLWithPath: bundle + "/train/variables/variables.data-00000-of-00001"))
        let first = try train(bundle, python: python, ["--json"])
        #expect(first.status == 0, "\(first.errors)")
        #expect(losses(first).count == 10)
        for (one, other) in zip(losses(first), wanted) { #expect(abs(one - other) < 1e-5) }
        // The trained bundle continues from the state of the first: variables, Adam's means and its count.
        let middle = work.appendingPathComponent("middle.tiobundle")
        try FileManager.default.moveItem(at: output, to: middle)
        let second = try train(middle.path, python: python, ["--json"])
        #expect(second.status == 0, "\(second.errors)")
        for (one, other) in zip(losses(second), wanted.dropFirst(10)) { #expect(abs(one - other) < 1e-5) }
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: bundle + "/train/variables/variables.data-00000-of-00001"))
                == before)
        let graph = "/train/saved_model.pb"
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: bundle + graph))
                == Data(contentsOf: URL(fileURLWithPath: output.path + graph)))
        let broken = work.appendingPathComponent("broken.tiobundle")
        try FileManager.default.copyItem(atPath: bundle, toPath: broken.path)
        let json = broken.appendingPathComponent("model.json")
        let manifest = try String(contentsOf: json, encoding: .utf8)
        try Data(manifest.replacingOccurrences(of: "\"ops\": [\"train\"]", with: "\"ops\": [\"trian\"]").utf8).write(
            to: json)
        try FileManager.default.removeItem(at: output)
        let wrong = try train(broken.path, python: python)
        #expect(wrong.status == 1 && wrong.errors.contains("no operation \"trian\""), "\(wrong.errors)")
        #expect(!FileManager.default.fileExists(atPath: output.path))
    }

    @Test(
        "`ocelli train` in batches, shuffled or not, has the mean losses of TensorFlow's own loop",
        .enabled(if: Self.tensorFlow != nil, "no Python has TensorFlow: TEST_TENSORFLOW names one that has"),
        arguments: [("batches of 4", [String]()), ("batches of 4, seed 9", ["--shuffle", "--seed", "9"])])
    func batchesHaveTensorFlowsOwnLosses(_ key: String, _ flags: [String]) throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let text = try Data(contentsOf: Self.folder.appendingPathComponent("expected.json"))
        let wanted = try #require(try JSONDecoder().decode([String: [Double]].self, from: text)[key])
        let result = try train(
            bundle, epochs: 5, python: try #require(Self.tensorFlow), ["--json", "--batch-size", "4"] + flags)
        #expect(result.status == 0, "\(result.errors)")
        #expect(losses(result).count == 5)
        for (one, other) in zip(losses(result), wanted) { #expect(abs(one - other) < 1e-5) }
    }

    @Test("`ocelli train` passes the size and the order of batches to Python; --seed alone is a wrong command line")
    func theJobHasTheSizeAndTheOrderOfBatches() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        for (flags, wanted) in [
            ([String](), (6, false, 0)), (["--batch-size", "4"], (4, false, 0)),
            (["--batch-size", "100"], (6, false, 0)),
            (["--batch-size", "1", "--shuffle"], (1, true, 0)), (["--shuffle", "--seed", "9"], (6, true, 9)),
        ] {
            let python = try substitute(
                """
                assert (job["items"], job["batch"]) == (6, \(wanted.0)), job
                assert job["shuffle"] is \(wanted.1 ? "True" : "False") and job["seed"] == \(wanted.2), job
                assert [one["feed"] for one in job["inputs"]] == ["rows", "rows"], job
                print(json.dumps({"epoch": 1, "outputs": {"loss": 1}}), flush=True)
                print(json.dumps({"done": "0"}), flush=True)
                """)
            let result = try train(bundle, epochs: 1, python: python, flags + ["--force"])
            #expect(result.status == 0, "\(flags): \(result.errors)")
        }
        let seed = try train(bundle, python: "python3", ["--seed", "1"])
        #expect(seed.status == 2 && seed.errors.contains("--seed is for --shuffle"), "\(seed.errors)")
        let none = try train(bundle, python: "python3", ["--batch-size", "0"])
        #expect(none.status == 2 && none.errors.contains("--batch-size"), "\(none.errors)")
    }

    /// Inputs without a batch axis take one item at a time.
    @Test("inputs without a batch axis are trained one item at a time with --batch-size 1, and refused otherwise")
    func inputsWithoutABatchAxis_needBatchesOfOne() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let single = work.appendingPathComponent("single.tiobundle")
        try FileManager.default.copyItem(atPath: bundle, toPath: single.path)
        let file = single.appendingPathComponent("model.json")
        let text = try String(contentsOf: file, encoding: .utf8).replacingOccurrences(of: "[-1, ", with: "[")
        try Data(text.utf8).write(to: file)
        let python = try substitute(
            """
            assert [one["feed"] for one in job["inputs"]] == ["each", "each"] and job["batch"] == 1, job
            assert [one["shape"] for one in job["inputs"]] == [[6, 16, 16, 3], [6, 1]], job
            print(json.dumps({"done": "0"}), flush=True)
            """)
        let refused = try train(single.path, python: python)
        #expect(refused.status == 1 && refused.errors.contains("use --batch-size 1"), "\(refused.errors)")
        let result = try train(single.path, python: python, ["--batch-size", "1"])
        #expect(result.status == 0, "\(result.errors)")
    }

    @Test("`ocelli train` passes the batch to Python, prints each epoch, and replaces only with --force")
    func theJobHasTheBatchAndTheOutputsArePrinted() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let python = try substitute(
            """
            image, labels = job["inputs"]
            assert image["shape"] == [6, 16, 16, 3] and len(image["files"]) == 6 and labels["values"] == [0, 1, 0, 1, 0, 1]
            assert open(image["files"][0], "rb").read(6) == b"\\x93NUMPY" and job["ops"] == ["train"] and job["epochs"] == 2
            for epoch in (1, 2):
                print(json.dumps({"epoch": epoch, "outputs": {"loss": 1 / epoch}}), flush=True)
            open(job["result"] + "/trained", "w").close()
            print(json.dumps({"done": "0"}), flush=True)
            """)
        let result = try train(bundle, epochs: 2, python: python)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.text.contains("epoch 1: loss 1") && result.text.contains("epoch 2: loss 0.5"))
        #expect(FileManager.default.fileExists(atPath: output.path + "/train/variables/trained"))
        #expect(FileManager.default.fileExists(atPath: output.path + "/train/saved_model.pb"))
        #expect(!FileManager.default.fileExists(atPath: bundle + "/train/variables/trained"))
        let again = try train(bundle, epochs: 2, python: python)
        #expect(again.status == 1 && again.errors.contains("--force"), "\(again.errors)")
        #expect(try train(bundle, epochs: 2, python: python, ["--force"]).status == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: work.path).filter { $0.hasPrefix(".") } == [])
    }

    @Test("a training that fails, times out or lacks TensorFlow ends with the reason and leaves no files")
    func failuresAndMissingPackagesAreToldAndLeaveNothing() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        for (text, flags, words) in [
            (#"print(json.dumps({"missing": "tensorflow"})); sys.exit(1)"#, [String](), "pip install tensorflow-cpu"),
            (#"print(json.dumps({"error": "no such op"})); sys.exit(1)"#, [], "cannot train the model: no such op"),
            ("sys.exit(3)", [], "exited with status 3"), ("time.sleep(60)", ["--timeout", "1s"], "longer than 1s"),
        ] {
            let result = try train(bundle, python: substitute(text), flags)
            #expect(result.status == 1 && result.errors.contains(words), "\(result.errors)")
            #expect(!FileManager.default.fileExists(atPath: output.path))
            #expect(try FileManager.default.contentsOfDirectory(atPath: work.path) == ["python"])
        }
    }

    /// A package that takes 1 GiB replaces TensorFlow.
    @Test(
        "a training that needs more than --memory fails, and one that needs less goes on",
        arguments: [("256", "cannot train the model: MemoryError"), ("4096", "has no package \"tensorflow.python\"")])
    func theMemoryOfATrainingIsBounded(_ memory: String, _ words: String) throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let packages = work.appendingPathComponent("packages")
        for (name, text) in [("numpy", ""), ("tensorflow", "bytearray(1 << 30)\n")] {
            let package = packages.appendingPathComponent(name)
            try FileManager.default.createDirectory(at: package, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: package.appendingPathComponent("__init__.py"))
        }
        let python = work.appendingPathComponent("python")
        try Data("#!/bin/sh\nPYTHONPATH='\(packages.path)' exec python3 \"$@\"\n".utf8).write(to: python)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: python.path)
        let result = try train(bundle, python: python.path, ["--memory", memory])
        #expect(result.status == 1 && result.errors.contains(words), "\(result.errors)")
        #expect(!FileManager.default.fileExists(atPath: output.path))
    }

    @Test("`ocelli train` takes pictures as base64 too, with the same tensors as from files")
    func picturesInTheBatchAreThoseOfTheFiles() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let batch = work.appendingPathComponent("batch.jsonl"), tensors = work.appendingPathComponent("tensors")
        let pictures = (0..<2).map { Self.folder.appendingPathComponent("pictures/\($0).png") }
        let texts = try pictures.map { try Data(contentsOf: $0).base64EncodedString() }
        let python = try substitute(
            """
            assert len(job["inputs"][0]["files"]) == 4
            open("\(tensors.path)", "wb").write(b"".join(open(name, "rb").read() for name in job["inputs"][0]["files"]))
            sys.exit(9)
            """)
        try Data(
            """
            {"image": "\(pictures[0].path)", "labels": 0}
            {"image": {"b64": "\(texts[0])"}, "labels": 0}
            {"image": {"b64": "data:image/png;base64,\(texts[1])"}, "labels": 1}
            {"image": "\(pictures[1].path)", "labels": 1}
            """.utf8
        ).write(to: batch)
        let result = try train(bundle, python: python, batch: batch.path)
        #expect(result.errors.contains("exited with status 9"), "\(result.errors)")
        let all = try Data(contentsOf: tensors), size = all.count / 4
        #expect(size > 0 && all.prefix(size) == all.dropFirst(size).prefix(size))
        #expect(all.dropFirst(2 * size).prefix(size) == all.suffix(size) && all.prefix(size) != all.suffix(size))
    }

    @Test("`ocelli train` names the mistakes of a batch, and a bundle that cannot be trained")
    func wrongBundlesAndBatchesAreNamed() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let python = try substitute("sys.exit(9)"), batch = work.appendingPathComponent("batch.jsonl")
        let picture = Self.folder.appendingPathComponent("pictures/0.png").path
        for (line, words) in [
            ("{\"image\": \"none.png\", \"labels\": 0}", "line 1: input \"image\": none.png cannot be read"),
            (
                "{\"image\": 7, \"labels\": 0}",
                "expected the name of a picture file, or {\"b64\": \"...\"}, found the number 7"
            ),
            ("{\"image\": {\"b64\": \"?\"}, \"labels\": 0}", "found a string that is not base64"),
            ("{\"image\": {\"b46\": \"\"}, \"labels\": 0}", "found an object with other members"),
            ("{\"image\": {\"b64\": \"AAAA\"}, \"labels\": 0}", "input \"image\": \"b64\": "),
            ("{\"image\": \"\(picture)\"}", "line 1: input \"labels\" is missing"),
            ("{\"image\": \"\(picture)\", \"labels\": [0, 1]}", "expected 1 numbers"),
            ("{\"image\": \"\(picture)\", \"label\": 0}", "\"label\" is not an input"), ("7", "expected an object"),
            ("", "has no items"),
        ] {
            try Data(line.utf8).write(to: batch)
            let result = try train(bundle, python: python, batch: batch.path)
            #expect(result.status == 1 && result.errors.contains(words), "\(result.errors)")
        }
        let tensorio = SharedData.packageRoot.appendingPathComponent(
            "Tests/Fixtures/tensorio/tensorflow-int64.tiobundle")
        let untrainable = try train(tensorio.path, python: python)
        #expect(untrainable.status == 1 && untrainable.errors.contains("cannot be trained"), "\(untrainable.errors)")
    }
}
