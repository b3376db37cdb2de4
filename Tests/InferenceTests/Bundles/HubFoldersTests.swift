import Foundation
import Inference
internal import Repository
import TestSupport
import Testing

/// Folders as model hubs have them: `config.json` on top, models in `onnx` or `openvino`.
@Suite struct HubFoldersTests {
    private static let described = ["config.json": "{}", "preprocessor_config.json": "{}"]

    private static func folder(_ models: [String], _ others: [String: String] = described) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try folder.write(Dictionary(uniqueKeysWithValues: models.map { ($0, "") }).merging(others) { $1 })
        return folder
    }

    @Test(
        "the model of a folder is found by its name, at the top or in a folder of exports",
        arguments: [
            (["onnx/model.onnx"], "onnx/model.onnx"), (["onnx/vision_model.onnx"], "onnx/vision_model.onnx"),
            (["onnx/model_quantized.onnx"], "onnx/model_quantized.onnx"),
            (["onnx/model.onnx", "onnx/model_fp16.onnx", "onnx/model_quantized.onnx"], "onnx/model.onnx"),
            (
                ["onnx/text_model.onnx", "onnx/vision_model.onnx", "onnx/vision_model_q4.onnx"],
                "onnx/vision_model.onnx"
            ),
            (["onnx/model.onnx", "onnx/text_model.onnx", "onnx/vision_model.onnx"], "onnx/vision_model.onnx"),
            (["vision_model.onnx", "text_model.onnx"], "vision_model.onnx"),
            (["model.onnx", "onnx/model.onnx"], "model.onnx"), (["model.onnx", "net.onnx"], "model.onnx"),
            (["openvino/openvino_model.xml", "openvino/openvino_tokenizer.xml"], "openvino/openvino_model.xml"),
            (["onnx/model.onnx", "openvino/openvino_model.xml"], "onnx/model.onnx"),
        ] as [([String], String)])
    func theModelIsFoundByItsName(_ models: [String], _ expected: String) throws {
        let folder = try Self.folder(models), path = folder.url.path
        let bundle = try ModelBundle(path: path)
        #expect(bundle.source.path == path + "/" + expected)
        #expect(try Bundles.repository(folder).0.names == [folder.url.lastPathComponent])
    }

    @Test("a choice among several models is a remark that names the others")
    func theChoiceIsNamed() async throws {
        func remarks(_ models: [String]) async throws -> [String] {
            let folder = try Self.folder(models)
            var configuration = ModelConfiguration()
            configuration.engine = FakeEngine()
            let model = try await Model.load(contentsOf: folder.url.path, configuration: configuration)
            return model.provenance?.remarks ?? []
        }
        #expect(
            try await remarks(["onnx/vision_model.onnx", "onnx/text_model.onnx"]).contains(
                "onnx/vision_model.onnx: is the model of this folder by its name; not served: onnx/text_model.onnx (for text)"
            ))
        let many = (1...6).map { "onnx/model_\($0).onnx" }
        #expect(try await remarks(many + ["onnx/model.onnx"]).contains { $0.hasSuffix("onnx/model_4.onnx and 2 more") })
        #expect(try await !remarks(["onnx/model.onnx"]).contains { $0.contains("not served") })
    }

    @Test("several models of which none stands out are refused with a command that chooses one")
    func severalModelsAreRefused() throws {
        let folder = try Self.folder(
            ["m/onnx/decoder_model.onnx", "m/onnx/encoder_model.onnx"], ["m/config.json": "{}"])
        let words =
            "of the models onnx/decoder_model.onnx, onnx/encoder_model.onnx none stands out by its name: `ocelli init "
        let error = #expect(throws: InferenceError.self) { try ModelBundle(path: folder.url.path + "/m") }
        #expect(
            error?.message.contains(words + folder.url.path + "/m/onnx/decoder_model.onnx`") == true,
            "\(String(describing: error))")
        #expect(try Bundles.repository(folder).0.leftOut.contains { $0.hasPrefix("m (" + words) })
        let itself = ModelRepository(folders: [folder.url.path + "/m"], configuration: ModelConfiguration())
        #expect(itself.leftOut.contains { $0.hasPrefix("onnx (" + words) }, "\(itself.leftOut)")
    }

    @Test("a folder of exports that no file describes is no model")
    func exportsWithoutADescriptionAreNoModel() throws {
        let folder = try Self.folder(["m/onnx/model.onnx"], [:])
        #expect(try Bundles.repository(folder).0.names == [])
    }

    @Test("a snapshot in the cache of the hub's own programs may link to the files of its repository, and to no others")
    func cachedModelsLinkToTheirRepository() throws {
        let folder = try Self.folder(
            ["blob"], ["hub/models--Org--vit/blobs/a": "", "hub/models--Org--vit/blobs/b": "{}"])
        let snapshot = folder.url.path + "/hub/models--Org--vit/snapshots/3ab4f"
        try FileManager.default.createDirectory(atPath: snapshot + "/onnx", withIntermediateDirectories: true)
        for (name, target) in [("onnx/model.onnx", "../../../blobs/a"), ("config.json", "../../blobs/b")] {
            try FileManager.default.createSymbolicLink(atPath: snapshot + "/" + name, withDestinationPath: target)
        }
        #expect(try ModelBundle(path: snapshot, links: .within([snapshot])).name == "vit")
        try FileManager.default.createSymbolicLink(
            atPath: snapshot + "/labels.txt", withDestinationPath: folder.url.path + "/blob")
        let error = #expect(throws: InferenceError.self) { try ModelBundle(path: snapshot, links: .within([snapshot])) }
        #expect(error?.message.contains("labels.txt: is a link that leads out of the model folders") == true)
    }

    @Test("a model in the cache of the hub's own programs has the name of its repository")
    func cachedModelsHaveTheNameOfTheRepository() throws {
        let commit = "models--Org--vit-tiny/snapshots/3ab4f", other = "models--Org/snapshots/3ab4f"
        #expect(ModelBundle.servedName(of: "/root/.cache/huggingface/hub/" + commit) == "vit-tiny")
        #expect(ModelBundle.servedName(of: "/hub/" + commit + "/") == "vit-tiny")
        #expect(ModelBundle.servedName(of: "/hub/snapshots/3ab4f") == "3ab4f")
        #expect(ModelBundle.servedName(of: "/hub/" + other) == "Org")
        #expect(ModelBundle.servedName(of: "/hub/" + commit + "/onnx") == "onnx")
    }
}
