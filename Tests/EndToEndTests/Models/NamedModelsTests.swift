import Foundation
import Synchronization
import TestSupport
import Testing

/// `--model NAME=PATH` as used by KServe and Kubernetes: one model, mounted at a given path, requested by a given name.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct NamedModelsTests {
    private static let digits = SharedData.packageRoot.appendingPathComponent("models/digits")

    /// A folder as kubelet mounts a ConfigMap: names that lead through `..data` to a folder with the current contents.
    private struct ConfigMap {
        let path: String
        private let folder: URL

        init(in parent: URL, named name: String) throws {
            folder = parent.appendingPathComponent(name)
            path = folder.path
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }

        /// Replaces the contents by one rename of `..data`; kubelet adds and removes the names at the top afterwards.
        func fill(_ generation: String, version: String, modelFile: String = "digits.onnx") throws {
            let files = FileManager.default
            let contents = folder.appendingPathComponent("..\(generation)")
            try files.copyItem(at: NamedModelsTests.digits, to: contents)
            if modelFile != "digits.onnx" {
                try files.moveItem(
                    at: contents.appendingPathComponent("digits.onnx"), to: contents.appendingPathComponent(modelFile))
            }
            let manifest = contents.appendingPathComponent("model.json")
            try String(contentsOf: manifest, encoding: .utf8)
                .replacingOccurrences(of: "\"version\": \"1\"", with: "\"version\": \"\(version)\"")
                .replacingOccurrences(of: "\"digits.onnx\"", with: "\"\(modelFile)\"")
                .write(to: manifest, atomically: true, encoding: .utf8)
            let before = Set(try files.contentsOfDirectory(atPath: path).filter { !$0.hasPrefix("..") })
            let now = Set(try files.contentsOfDirectory(atPath: contents.path))
            try files.createSymbolicLink(atPath: path + "/..data_tmp", withDestinationPath: "..\(generation)")
            guard rename(path + "/..data_tmp", path + "/..data") == 0 else { throw POSIXError(.EIO) }
            for name in now.subtracting(before) {
                try files.createSymbolicLink(atPath: path + "/" + name, withDestinationPath: "..data/" + name)
            }
            for name in before.subtracting(now) { try files.removeItem(atPath: path + "/" + name) }
        }
    }

    /// Classifies without a pause on its own threads until it is stopped.
    private final class Load: Sendable {
        private let counts = Mutex((answered: 0, failures: [String]()))
        private let isStopped = Atomic(false)
        private let group = DispatchGroup()

        init(_ url: String, threads: Int = 2) {
            for _ in 0..<threads {
                DispatchQueue.global().async(group: group) {
                    while !self.isStopped.load(ordering: .relaxed) { self.ask(url) }
                }
            }
        }

        private func ask(_ url: String) {
            let problem: String?
            do {
                let answer = try Curl.post(BadInputTests.seven, to: url)
                problem = answer.topLabel == "7" ? nil : "\(answer.status) \(answer.text)"
            } catch {
                problem = "\(error)"
            }
            counts.withLock { counts in
                if let problem { counts.failures.append(problem) } else { counts.answered += 1 }
            }
        }

        func stop() -> (answered: Int, failures: [String]) {
            isStopped.store(true, ordering: .relaxed)
            group.wait()
            return counts.withLock { $0 }
        }
    }

    private func temporary() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    /// KServe's modelcar makes `/mnt/models` a link into another process's root once that process has started.
    @Test("a --model path that appears after the start makes the daemon ready, under the given name")
    func placeThatAppearsLateIsServed() throws {
        let folder = try temporary()
        defer { try? FileManager.default.removeItem(at: folder) }
        let mount = folder.path + "/mnt-models"
        let daemon = try Daemon(["--model=my-classifier=\(mount)"])
        #expect(try Curl.run(daemon.url + "/healthz").status == 200)
        let waiting = try Curl.run(daemon.url + "/readyz")
        #expect(waiting.status == 503 && waiting.error.contains("my-classifier"), "\(waiting.text)")
        #expect(try Curl.run(daemon.url + "/v2/models/my-classifier/ready").status == 503)
        #expect(try Curl.run(daemon.url + "/v1/models/my-classifier").text.contains("does not exist"))
        sleep(5)
        let elsewhere = try ConfigMap(in: folder, named: "elsewhere")
        try elsewhere.fill("1", version: "1")
        try FileManager.default.createSymbolicLink(atPath: mount, withDestinationPath: elsewhere.path)
        #expect(daemon.waitForLog("ready after"), "\(daemon.log)")
        #expect(try Curl.run(daemon.url + "/readyz").status == 200)
        #expect(try Curl.run(daemon.url + "/v2/models/my-classifier/ready").status == 200)
        let answer = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/models/my-classifier/classify")
        #expect(answer.topLabel == "7" && answer.json["model"] as? String == "my-classifier", "\(answer.text)")
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify").topLabel == "7")
        #expect(daemon.stop() == 0)
    }

    /// The files of a ConfigMap are replaced, then the names of the files, while clients send requests.
    @Test("a mounted ConfigMap that is exchanged under load is served, and no request fails")
    func swapOfAMountUnderLoadFailsNothing() throws {
        let folder = try temporary()
        defer { try? FileManager.default.removeItem(at: folder) }
        let map = try ConfigMap(in: folder, named: "models")
        try map.fill("1", version: "1")
        let daemon = try Daemon(["--model=digits=\(map.path)", "--access-log=false", "--queue-length=1000"])
        let load = Load(daemon.url + "/v1/models/digits/classify")
        func version() throws -> String? {
            try Curl.run(daemon.url + "/v1/models/digits").json["version"] as? String
        }
        for (generation, file) in [("2", "digits.onnx"), ("3", "other.onnx"), ("4", "digits.onnx")] {
            try map.fill(generation, version: generation, modelFile: file)
            #expect(try eventually { try version() == generation }, "\(daemon.log)")
            #expect(try Curl.run(daemon.url + "/readyz").status == 200)
        }
        let result = load.stop()
        #expect(result.answered > 0)
        #expect(result.failures.isEmpty, "\(result.failures.prefix(3)) \(daemon.log)")
        #expect(daemon.stop() == 0)
    }

    /// One numbered version replaces another in one step: the old one answers until the new one is ready.
    @Test("a numbered version that replaces another under load is served, and no request fails")
    func swapOfNumberedVersionsUnderLoadFailsNothing() throws {
        let folder = try temporary()
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = FileManager.default
        for version in ["1", "2"] {
            let place = folder.appendingPathComponent("generation-\(version)/\(version)")
            try files.createDirectory(at: place, withIntermediateDirectories: true)
            for name in try files.contentsOfDirectory(atPath: Self.digits.path) {
                try files.copyItem(at: Self.digits.appendingPathComponent(name), to: place.appendingPathComponent(name))
            }
        }
        let mount = folder.path + "/mount"
        try files.createSymbolicLink(atPath: mount, withDestinationPath: "generation-1")
        let daemon = try Daemon(["--model=digits=\(mount)", "--access-log=false", "--queue-length=1000"])
        let load = Load(daemon.url + "/v1/models/digits/classify")
        try files.createSymbolicLink(atPath: mount + ".tmp", withDestinationPath: "generation-2")
        #expect(rename(mount + ".tmp", mount) == 0)
        #expect(daemon.waitForLog("model digits version 2 is ready"), "\(daemon.log)")
        #expect(
            try eventually {
                let answer = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify")
                return answer.json["version"] as? String == "2"
            }, "\(daemon.log)")
        #expect(try Curl.run(daemon.url + "/v1/models/digits/versions/1").status == 404)
        let result = load.stop()
        #expect(result.answered > 0)
        #expect(result.failures.isEmpty, "\(result.failures.prefix(3)) \(daemon.log)")
        #expect(daemon.stop() == 0)
    }

    /// KServe's agent deletes a model's folder, and then requests to unload the model.
    @Test("a model whose folder was deleted can be unloaded, and its load gets 404")
    func deletedFolderCanBeUnloaded() throws {
        let folder = try temporary()
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in ["kept", "deleted"] {
            try FileManager.default.copyItem(at: Self.digits, to: folder.appendingPathComponent(name))
        }
        let daemon = try Daemon(["--models", folder.path])
        try FileManager.default.removeItem(at: folder.appendingPathComponent("deleted"))
        func post(_ what: String) throws -> Answer {
            try Curl.run(daemon.url + "/v2/repository/models/deleted/" + what, ["--data", "{}"])
        }
        #expect(try post("unload").status == 200)
        #expect(try Curl.run(daemon.url + "/v2/models/deleted/ready").status == 503)
        #expect(try Curl.run(daemon.url + "/readyz").status == 200)
        #expect(try post("load").status == 404)
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/models/kept/classify").topLabel == "7")
        #expect(daemon.stop() == 0)
    }

    @Test(
        "a wrong --model or --ready-when ends the start with status 2 and a message",
        arguments: [
            (["--model", "digits"], "NAME=PATH"), (["--model", "=/mnt/models"], "NAME=PATH"),
            (["--model", "a=/x", "--model", "a=/y"], "\"a\" is given to /x and to /y"),
            (["--model", "a=/x", "--ready-when", "all,a"], "ready_when"),
        ])
    func wrongValuesAreRefused(arguments: [String], words: String) throws {
        let result = try Shell.run(Daemon.binary.path, ["serve", "--listen", "127.0.0.1:0"] + arguments)
        #expect(result.status == 2)
        #expect(result.errors.contains(words), "\(result.errors)")
    }

    @Test("/readyz names the first ten models that are not ready, and counts the rest")
    func whatIsNotReadyIsListed() throws {
        let models = (1...12).map { "--model=m\(100 + $0)=/nowhere/\($0)" }
        let daemon = try Daemon(models + ["--repository-poll=0"])
        let answer = try Curl.run(daemon.url + "/readyz")
        #expect(answer.status == 503 && answer.headers["retry-after"] == "1")
        let names = (1...10).map { "m\(100 + $0) has failed" }.joined(separator: ", ")
        #expect(answer.error == "not ready: \(names) and 2 more")
        #expect(daemon.stop() == 0)
    }

    @Test("--ready-when=any needs a single ready model; a list of names needs each named model")
    func readyWhenAnyModelIs() throws {
        let daemon = try Daemon([
            "--model=digits=\(Self.digits.path)", "--model=absent=/nowhere", "--ready-when=any",
        ])
        #expect(try Curl.run(daemon.url + "/readyz").status == 200)
        #expect(daemon.stop() == 0)
        let named = try Daemon([
            "--model=digits=\(Self.digits.path)", "--model=absent=/nowhere", "--ready-when=digits,other",
        ])
        let answer = try Curl.run(named.url + "/readyz")
        #expect(answer.error == "not ready: other does not exist", "\(answer.text)")
        #expect(named.stop() == 0)
    }
}
