import Foundation
import Inference
internal import Repository
import Rollout
import Synchronization
import TestSupport
import Testing

/// Links in model folders: those that are followed, and those that stop a walk.
@Suite struct LinksTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func link(_ name: String, to target: String) throws {
        let place = folder.url.appendingPathComponent(name)
        try FileManager.default.createDirectory(
            at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: place.path, withDestinationPath: target)
    }

    /// A repository of `models`, after its eager models have been loaded.
    private func repository(_ models: String = "models") async throws -> ModelRepository {
        var configuration = ModelConfiguration()
        configuration.engine = FakeEngine()
        let path = folder.url.path + "/" + models
        configuration.links = .within([path])
        let repository = ModelRepository(folders: [path], configuration: configuration)
        try repository.discover()
        await repository.loadEager()
        return repository
    }

    private static let labelled = Bundles.manifest().replacingOccurrences(
        of: "\"name\": \"y\",", with: "\"name\": \"y\", \"labels\": \"labels.txt\",")

    @Test("a bundle with a file that is a link out of the models folder fails, and other bundles are served")
    func aFileThatIsALinkOutOfTheFolderIsRefused() async throws {
        try folder.write([
            "secret": "root\n", "models/m/model.json": Bundles.manifest(), "models/m/m.onnx": "",
            "models/good/model.json": Bundles.manifest(), "models/good/m.onnx": "",
        ])
        try link("models/m/labels.txt", to: "../../secret")
        let repository = try await repository()
        let records = repository.records
        #expect(records.map(\.name) == ["good", "m"] && records.first?.state == .ready)
        guard case .failed(let reason) = records.last?.state else {
            Issue.record("a link out of the folder was followed")
            return
        }
        #expect(reason.contains("labels.txt") && reason.contains("external_links"), "\(reason)")
        #expect(!reason.contains(folder.url.path), "\(reason)")
    }

    /// Also if the other folder's path begins with the model folder's path.
    @Test(
        "a model file that is a link out of the models folder is refused",
        arguments: ["../../elsewhere/m.onnx", "../../models-private/m.onnx", "/dev/null", "/etc/passwd"])
    func soIsAModelFile(_ target: String) async throws {
        try folder.write([
            "elsewhere/m.onnx": "", "models-private/m.onnx": "", "models/m/model.json": Bundles.manifest(),
        ])
        try link("models/m/m.onnx", to: target)
        #expect(try await repository().records.allSatisfy { $0.state != .ready })
    }

    /// A user who may create a link in a model folder may create a model there.
    @Test("an entry of the models folder may itself be a link out of the folder")
    func anEntryOfTheFolderMayItselfBeALink() async throws {
        try folder.write([
            "elsewhere/m/model.json": Bundles.manifest(), "elsewhere/m/m.onnx": "",
            "elsewhere/v/1/model.json": Bundles.manifest(), "elsewhere/v/1/m.onnx": "",
            "elsewhere/n.xml": "", "elsewhere/n.bin": "",
        ])
        try link("models/m", to: "../elsewhere/m")
        try link("models/v", to: folder.url.path + "/elsewhere/v")
        try link("models/n.xml", to: "../elsewhere/n.xml")
        try link("models/n.bin", to: "../elsewhere/n.bin")
        let records = try await repository().records
        #expect(records.map(\.name) == ["m", "n", "v"] && records.allSatisfy { $0.state == .ready }, "\(records)")
    }

    @Test("a models folder that is given with trailing slashes serves linked entries")
    func theFolderOfModelsMayEndWithSlashes() async throws {
        try folder.write(["elsewhere/m/model.json": Bundles.manifest(), "elsewhere/m/m.onnx": ""])
        try link("models/m", to: "../elsewhere/m")
        for end in ["/", "//"] { #expect(try await repository("models" + end).records.map(\.state) == [.ready]) }
    }

    /// The target of such a link is the model, without the files next to it.
    @Test("a file of a linked bundle may not be a link out of the bundle", arguments: ["../secret", "../v/labels.txt"])
    func aLinkInALinkedBundleStaysInside(_ target: String) async throws {
        try folder.write([
            "elsewhere/m/model.json": Self.labelled, "elsewhere/m/m.onnx": "", "elsewhere/secret": "root\n",
            "elsewhere/v/labels.txt": "a\nb\n",
        ])
        try link("models/m", to: "../elsewhere/m")
        try link("elsewhere/m/labels.txt", to: target)
        guard case .failed(let reason) = try await repository().records.first?.state else {
            Issue.record("a link out of the bundle was followed")
            return
        }
        #expect(reason.contains("labels.txt") && reason.contains("external_links"), "\(reason)")
    }

    /// Weights next to a bare file have its name; other files there do not belong to it.
    @Test("a bare file whose weights are a link out of the models folder fails, and a file next to it is served")
    func theWeightsOfABareFileAreNotALinkOutOfTheFolder() async throws {
        try folder.write(["elsewhere/m.bin": "", "models/m.xml": "", "models/n.xml": ""])
        try link("models/m.bin", to: "../elsewhere/m.bin")
        let states = try await repository().records.map(\.state)
        #expect(states.count == 2 && states.first != .ready && states.last == .ready, "\(states)")
    }

    @Test("a model file that is a link within the models folder is served")
    func linksInsideTheFolderAreFollowed() async throws {
        try folder.write(["models/_shared/m.onnx": "", "models/m/model.json": Bundles.manifest()])
        try link("models/m/m.onnx", to: folder.url.path + "/models/_shared/m.onnx")
        #expect(try await repository().records.map(\.state) == [.ready])
    }

    /// A ConfigMap is mounted as links to files in a folder that another link names, so that all of it changes
    /// atomically.
    @Test("a bundle mounted as a ConfigMap, with links through ..data, is served")
    func aConfigMapIsServed() async throws {
        try folder.write([
            "models/m/..2026_11_22/model.json": Bundles.manifest(), "models/m/..2026_11_22/m.onnx": "",
        ])
        try link("models/m/..data", to: "..2026_11_22")
        for file in ["model.json", "m.onnx"] { try link("models/m/\(file)", to: "..data/\(file)") }
        #expect(try await repository().records.map(\.state) == [.ready])
    }

    /// The model folder may itself be a link, for example to models mounted from another container.
    @Test("the models folder may itself be a link")
    func theFolderOfModelsMayBeALink() async throws {
        try folder.write(["elsewhere/m/model.json": Bundles.manifest(), "elsewhere/m/m.onnx": ""])
        try link("models", to: "elsewhere")
        #expect(try await repository().records.map(\.state) == [.ready])
    }

    /// Thirty links to the folder itself: 30 to the power of 8 paths, and one folder.
    @Test("a bundle with 30 links to itself is walked once, and each file counts once", .timeLimit(.minutes(1)))
    func aFolderWithLinksToItselfIsWalkedOnce() async throws {
        try folder.write(["models/m/model.json": Bundles.manifest(), "models/m/m.onnx": ""])
        for index in 0..<30 { try link("models/m/loop\(index)", to: ".") }
        let repository = try await repository()
        #expect(repository.records.map(\.state) == [.ready])
        let bytes = try await repository.model(named: "m").loadReport.fileBytes
        #expect(bytes == Bundles.manifest().utf8.count, "each file counts once")
        let watcher = try RepositoryWatcher(repository)
        #expect(try !watcher.scan())
    }

    /// Folders that link to each other, more than any bundle has.
    @Test("a bundle with 30 folders that all link to each other is loaded within a minute", .timeLimit(.minutes(1)))
    func manyFoldersAreBounded() async throws {
        try folder.write(["models/m/model.json": Bundles.manifest(), "models/m/m.onnx": ""])
        for index in 0..<30 {
            for other in 0..<30 where other != index {
                try link("models/m/f\(index)/\(other)", to: "../f\(other)")
            }
        }
        #expect(try await repository().records.map(\.state) == [.ready])
    }

    // MARK: rollout.json

    private static let secret = "root:x:0:0"

    /// The repository of `models` with its log messages.
    private func rollouts(_ links: LinkPolicy? = nil) async throws -> (repository: ModelRepository, log: [String]) {
        let path = folder.url.path + "/models"
        var configuration = ModelConfiguration()
        configuration.engine = FakeEngine()
        configuration.links = links ?? .within([path])
        let log = Mutex<[String]>([])
        let repository = ModelRepository(folders: [path], configuration: configuration) { event in
            log.withLock { $0.append("\(event)") }
        }
        try repository.discover()
        await repository.loadEager()
        return (repository, log.withLock { $0 })
    }

    @Test(
        "a rollout.json that is a link out of the models folder is not read, and no byte of its target is reported",
        arguments: ["root:x:0:0", "{serve: '1'}", "{\"serve\": \"root:x:0:0\"}"])
    func aRolloutThatIsALinkOutOfTheFolderIsNotRead(_ contents: String) async throws {
        try folder.write([
            "secret": contents, "models/v/1/model.json": Bundles.manifest(), "models/v/1/m.onnx": "",
            "models/v/2/model.json": Bundles.manifest(), "models/v/2/m.onnx": "",
        ])
        try link("models/v/rollout.json", to: "../../secret")
        let (repository, log) = try await rollouts()
        let status = try repository.rolloutStatus(of: "v"), problem = status.view.problem ?? ""
        #expect(status.serving == nil && status.view.machine.plan.serve == nil)
        #expect(problem.contains("rollout.json is a link that leads out") && problem.contains("external_links"))
        let error = await #expect(throws: InferenceError.self) { try await repository.model(named: "v") }
        #expect(repository.reasonAgainstAll(of: "v") == problem && !repository.isReady())
        #expect(repository.missing(for: .all).map(\.state) == [.failed(reason: problem)])
        for text in log + [problem, error?.message ?? ""] { #expect(!text.contains("root"), "\(text)") }
        #expect(!problem.contains(folder.url.path) && error?.message.contains(folder.url.path) == false)
        #expect(log.contains { $0.contains("/models/v/rollout.json is a link") }, "\(log)")
        // If links may lead anywhere, the file is read.
        guard contents == "{serve: '1'}" else { return }
        #expect(try await rollouts(.anywhere).repository.rolloutStatus(of: "v").serving == "1")
    }

    @Test("a rollout.json that is a link within the models folder, or in a linked folder, is read")
    func aRolloutThatIsALinkInsideIsRead() async throws {
        try folder.write([
            "models/_plans/v.json": "{serve: '1'}", "elsewhere/w/rollout.json": "{serve: '1'}",
            "models/v/1/model.json": Bundles.manifest(), "models/v/1/m.onnx": "",
            "models/v/2/model.json": Bundles.manifest(), "models/v/2/m.onnx": "",
            "elsewhere/w/1/model.json": Bundles.manifest(), "elsewhere/w/1/m.onnx": "",
            "elsewhere/w/2/model.json": Bundles.manifest(), "elsewhere/w/2/m.onnx": "",
        ])
        try link("models/v/rollout.json", to: "../_plans/v.json")
        try link("models/w", to: "../elsewhere/w")
        let (repository, log) = try await rollouts()
        for name in ["v", "w"] { #expect(try repository.rolloutStatus(of: name).serving == "1", "\(log)") }
    }

    /// Other links lead to the folder by a path of the maximum depth, before the walk reaches it by its name.
    @Test("a link out of the models folder is found in a folder that other links reach by a long path")
    func aLinkAtTheEndOfALongWayIsNotFollowed() async throws {
        try folder.write(["secret": "root\n", "models/m/model.json": Self.labelled, "models/m/m.onnx": ""])
        for number in 1...7 {
            try link("models/m/a\(number)/next", to: number == 7 ? "../assets" : "../a\(number + 1)")
        }
        try link("models/m/assets/labels.txt", to: "../../../secret")
        #expect(try await repository().records.first?.state != .ready)
    }

    /// More files than a walk visits: the link comes after them in the order of names.
    @Test("a link out of the models folder is found however many files are next to it")
    func aLinkBehindManyFilesIsNotFollowed() async throws {
        try folder.write(["secret": "root\n", "models/m/model.json": Self.labelled, "models/m/m.onnx": ""])
        for number in 0..<10_000 {
            _ = FileManager.default.createFile(
                atPath: folder.url.path + "/models/m/a\(number)", contents: nil)
        }
        try link("models/m/labels.txt", to: "../../secret")
        guard case .failed(let reason) = try await repository().records.first?.state else {
            Issue.record("a link out of the folder was followed")
            return
        }
        #expect(reason.contains("more than 10000 files"), "\(reason)")
    }
}
