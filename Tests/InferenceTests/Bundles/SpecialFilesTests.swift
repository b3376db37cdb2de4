internal import EngineImporters
internal import EngineOpenVINO
import Foundation
import Inference
internal import Repository
import Synchronization
import TestSupport
import Testing

/// Pipes, sockets and devices in place of a model's files: refused immediately, wherever they are opened.
@Suite(.timeLimit(.minutes(2))) struct SpecialFilesTests {
    /// Files of bundles in every form, one of which is replaced by a pipe or a device.
    private static let bundles: [(files: [String: String], special: String, model: String)] = [
        (["m/model.json": Bundles.manifest()], "m/m.onnx", "m"),
        (["m/m.onnx": ""], "m/model.json", "m"),
        (["m/model.json": Bundles.manifest(), "m/m.onnx": ""], "m/labels.txt", "m"),
        (["m/model.json": Bundles.manifest(), "m/m.onnx": ""], "m/assets/weights.data", "m"),
        ([:], "m.onnx", "m.onnx"), ([:], "m.tflite", "m.tflite"), ([:], "m.xml", "m.xml"), ([:], "m.pb", "m.pb"),
        ([:], "m.mlmodel", "m.mlmodel"), (["m.xml": "<net/>"], "m.bin", "m.xml"),
        (["m.xml": "<net/>"], "m.BIN", "m.xml"),
        (["m.onnx": ""], "m.onnx.data", "m.onnx"),
        (["m/saved_model.pb": ""], "m/variables/variables.index", "m"), ([:], "m/saved_model.pb", "m"),
        (["m/model.onnx": ""], "m/config.json", "m"), (["m/model.onnx": ""], "m/preprocessor_config.json", "m"),
        ([:], "m.mlpackage/Manifest.json", "m.mlpackage"),
        (["m.mlpackage/Manifest.json": "{}"], "m.mlpackage/Data/com.apple.CoreML/weights/weight.bin", "m.mlpackage"),
    ]

    enum Kind: CaseIterable {
        case pipe, zero, socket

        func make(_ path: String) throws {
            try? FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            switch self {
            case .pipe: try #require(mkfifo(path, 0o600) == 0)
            case .zero: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/zero")
            case .socket: try #require(mknod(path, S_IFSOCK | 0o600, 0) == 0)
            }
        }

        var reason: String {
            switch self {
            case .pipe: "cannot be read: expected a regular file, found a FIFO"
            case .zero: "cannot be read: expected a regular file, found a character device"
            case .socket: "cannot be read: expected a regular file, found a socket"
            }
        }
    }

    @Test(
        "a model with a pipe, socket or device among its files is refused before the engine reads a file",
        arguments: Kind.allCases)
    func aBundleWithASpecialFileIsRefusedBeforeTheEngineSeesIt(_ kind: Kind) async throws {
        for (files, special, model) in Self.bundles {
            let folder = try TemporaryFolder()
            let path = try folder.write(files) + "/" + model
            try kind.make(folder.url.path + "/" + special)
            let engine = FakeEngine()
            var configuration = ModelConfiguration()
            configuration.engine = engine
            let error = await #expect(throws: InferenceError.self, "\(special)") {
                _ = try await Model.load(contentsOf: path, configuration: configuration)
            }
            let name = String(special.split(separator: "/").last ?? "")
            #expect(
                error?.message.contains("\(name): \(kind.reason)") == true
                    || error?.message.contains("\(name) \(kind.reason)") == true, "\(special): \(error?.message ?? "")")
            #expect(engine.state.withLock { $0.sources.isEmpty })
        }
    }

    /// An ONNX file names the files of large weights (external_data.py of the onnx package), so any name may belong to
    /// the model.
    @Test(
        "a bare ONNX file whose external data is a pipe, socket or device is refused",
        arguments: Kind.allCases, ["weights", "m2.onnx.data", "sub/weights"])
    func aSpecialFileThatABareONNXFileNamesIsRefused(_ kind: Kind, _ special: String) async throws {
        func field(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] { [number << 3 | 2, UInt8(bytes.count)] + bytes }
        let location = field(13, field(1, Array("location".utf8)) + field(2, Array(special.utf8)))
        // ModelProto.graph with GraphProto.initializer, and one in an attribute of a node.
        let initializer = field(7, field(5, field(8, [0x77]) + location))
        let attribute = field(7, field(1, field(5, field(5, location))))
        for model in [initializer, attribute] {
            let folder = try TemporaryFolder()
            let path = folder.url.path + "/m.onnx"
            try Data(model).write(to: URL(fileURLWithPath: path))
            try kind.make(folder.url.path + "/" + special)
            var configuration = ModelConfiguration()
            let engine = FakeEngine()
            configuration.engine = engine
            let error = await #expect(throws: InferenceError.self) {
                _ = try await Model.load(contentsOf: path, configuration: configuration)
            }
            #expect(error?.message.contains("/\(special) \(kind.reason)") == true, "\(error?.message ?? "")")
            #expect(engine.state.withLock { $0.sources.isEmpty })
        }
    }

    /// The socket or pipe of a service that has the model's name is not one of the model's files.
    @Test(
        "a bare model file next to an unrelated pipe, socket or device is loaded",
        arguments: Kind.allCases, ["m.sock", "m.pipe", "m.txt"])
    func aBareModelFileBesideAnUnrelatedSpecialFileIsLoaded(_ kind: Kind, _ special: String) async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(["m.onnx": ""]) + "/m.onnx"
        try kind.make(folder.url.path + "/" + special)
        var configuration = ModelConfiguration()
        configuration.engine = FakeEngine()
        #expect(try await Model.load(contentsOf: path, configuration: configuration).description.name == "m")
    }

    @Test("every reader of model files refuses a pipe, a socket and a device", arguments: Kind.allCases)
    func everyReaderOfFilesRefusesThem(_ kind: Kind) throws {
        let folder = try TemporaryFolder()
        let path = folder.url.path + "/file.bin"
        try kind.make(path)
        #expect(throws: FileFailure.self) { _ = try OpenFile(path) }
        guard case .failure(let problem) = BundleFile.read(path, maximum: 100) else {
            Issue.record("it was read")
            return
        }
        #expect(problem.reason == kind.reason)
        var hash = ContentHash()
        let wasRead = hash.add(file: path)
        #expect(!wasRead)
        try kind.make(folder.url.path + "/m.tflite")
        #expect(TFLiteFile.bytes(folder.url.path + "/m.tflite") == nil)
        try kind.make(folder.url.path + "/saved/saved_model.pb")
        #expect(SavedModelNames(folder: folder.url.path + "/saved") == nil)
        try folder.write(["ir.xml": ""])
        try kind.make(folder.url.path + "/ir.bin")
        #expect(ExportKey(path: folder.url.path + "/ir.xml", folder: "/tmp", circumstances: "") == nil)
    }

    /// A watched folder is scanned, even if it contains special files.
    @Test("a watched folder skips models with pipes, sockets or devices, and good models stay ready")
    func aWatchedFolderWithSpecialFilesIsLookedAt() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["good.onnx": ""])
        let (repository, events) = try Bundles.repository(folder)
        await repository.loadEager()
        let watcher = try RepositoryWatcher(repository)
        for (index, kind) in Kind.allCases.enumerated() {
            try folder.write(["bundle\(index)/model.json": Bundles.manifest()])
            try kind.make(folder.url.path + "/bundle\(index)/m.onnx")
            try kind.make(folder.url.path + "/bare\(index).onnx")
        }
        for _ in 0..<2 where try watcher.scan() { try await watcher.applyChanges() }
        #expect(
            events.all.sorted()
                == ["left alone bare0", "left alone bare1", "left alone bare2"]
                + ["left alone bundle0", "left alone bundle1", "left alone bundle2", "loaded good 1"])
        #expect(repository.isReady())
    }
}
