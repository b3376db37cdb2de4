import Foundation
import Inference
import TestSupport
import Testing

/// Links in the folders of models: which are followed, and which end a walk.
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

    /// Also where the folder's path begins as the other's does.
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

    /// Anyone who may put a link into a folder of models may put a model there.
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

    /// The target of such a link is the model, and not the files beside it.
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

    /// Weights beside a bare file have its name; other files there are not its own.
    @Test("a bare file whose weights are a link out of the models folder fails, and a file beside is served")
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

    /// A ConfigMap is mounted as links to files of a folder that a link names, so that all of it changes at once.
    @Test("a bundle mounted as a ConfigMap, with links through ..data, is served")
    func aConfigMapIsServed() async throws {
        try folder.write([
            "models/m/..2026_11_22/model.json": Bundles.manifest(), "models/m/..2026_11_22/m.onnx": "",
        ])
        try link("models/m/..data", to: "..2026_11_22")
        for file in ["model.json", "m.onnx"] { try link("models/m/\(file)", to: "..data/\(file)") }
        #expect(try await repository().records.map(\.state) == [.ready])
    }

    /// The folder of models may be a link itself: a model that is mounted from another container is.
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

    /// Folders that link to each other, and more folders than any bundle has.
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
}
