import Foundation
import Inference
import Synchronization
import TestSupport
import Testing

/// The choice between two engines for an ONNX file, with fake engines.
struct EngineChoiceTests {
    /// An engine that reads every file, or refuses every file or those of one folder.
    private final class ScriptedEngine: Engine {
        let version: String
        let build: String
        let refusal: String?, refused: String?
        let reads = Mutex(0)

        init(_ version: String, build: String = "", refusal: String? = nil, in folder: String? = nil) {
            self.version = version
            self.build = build
            self.refusal = refusal
            refused = folder
        }

        func availableDevices() throws(EngineError) -> [ComputeDevice] { [] }

        func read(_ source: ModelSource) throws(EngineError) -> any ModelFile {
            reads.withLock { $0 += 1 }
            if let refusal, refused.map({ source.path.hasPrefix($0 + "/") }) ?? true {
                throw EngineError(kind: .invalidModel, operation: "read the model file", detail: refusal)
            }
            return try FakeEngine().read(source)
        }
    }

    private static let missing = EngineError(
        kind: .failure, operation: "use ONNX Runtime", detail: "it is not installed")

    private let folder: TemporaryFolder
    private let source: ModelSource

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(["model.onnx": "a model \(UUID().uuidString)", "model.tflite": "another"])
        var source = ModelSource(path: folder.url.path + "/model.onnx")
        source.cacheFolder = folder.url.path
        self.source = source
    }

    private func engine(_ first: ScriptedEngine, _ second: ScriptedEngine?) -> ChoosingEngine {
        ChoosingEngine.between(first) { () throws(EngineError) -> any Engine in
            guard let second else { throw Self.missing }
            return second
        }
    }

    /// The first engine computes as the second does.
    private static let same = EngineFinding(Confirmation(by: "ONNX Runtime 1", at: ["[1,4]"], largestDifference: 0))

    private static func wrong(_ fault: String) -> EngineFinding {
        EngineFinding(fault: fault, .ownRuntime("ONNX Runtime 1"))
    }

    private let openVINO = ScriptedEngine("OpenVINO 1"), onnxRuntime = ScriptedEngine("ONNX Runtime 1")
    private let refusing = ScriptedEngine("OpenVINO 1", refusal: "no LinearClassifier")

    @Test("OpenVINO runs an ONNX file that it reads, and the choice is final once the answers are confirmed")
    func theFirstEngineRunsWhatItReadsAndTheQuestionStaysOpenUntilItIsSettled() throws {
        let engine = engine(openVINO, onnxRuntime)
        let opened = try engine.open(source)
        #expect(opened.use?.name == "openvino" && opened.use?.reason == nil)
        try #require(opened.question).decide(Self.same)
        #expect(try engine.open(source).question == nil)
        #expect(try engine.open(source).use?.name == "openvino")
    }

    @Test("an ONNX file that OpenVINO computes wrongly runs on ONNX Runtime from then on")
    func whatTheFirstEngineComputesWronglyRunsOnTheSecondFromThenOn() throws {
        let engine = engine(openVINO, onnxRuntime)
        try #require(try engine.open(source).question).decide(Self.wrong("computes it wrongly: 2 instead of 1"))
        let opened = try engine.open(source)
        #expect(opened.use?.name == "onnxruntime" && opened.question == nil)
        #expect(opened.use?.reason == "OpenVINO computes it wrongly: 2 instead of 1")
    }

    @Test("an ONNX file that OpenVINO cannot read runs on ONNX Runtime, with the reason")
    func whatTheFirstEngineCannotReadRunsOnTheSecond() throws {
        let opened = try engine(refusing, onnxRuntime).open(source)
        #expect(opened.use?.name == "onnxruntime" && opened.question == nil)
        #expect(opened.use?.reason == "OpenVINO cannot read it: no LinearClassifier")
    }

    @Test("a file that quantizes values as it runs is run by ONNX Runtime, and by OpenVINO where that is missing")
    func dynamicallyQuantizedFilesRunOnTheirOwnRuntime() throws {
        var source = ModelSource(
            path: SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/quantized/dynamic.onnx").path)
        source.cacheFolder = folder.url.path
        let opened = try engine(openVINO, onnxRuntime).open(source)
        #expect(opened.use?.name == "onnxruntime" && opened.question == nil && opened.confirmation.by != nil)
        #expect(opened.use?.reason == "it rounds dynamically quantized values exactly")
        #expect(try engine(openVINO, nil).open(source).use?.name == "openvino")
        source.engine.preference = .openvino
        #expect(try engine(openVINO, onnxRuntime).open(source).use?.name == "openvino")
    }

    /// The answers of a model do not change because a library was removed.
    @Test("a model that ran on ONNX Runtime fails once the library is gone, even if OpenVINO now reads the file")
    func aModelOfTheSecondEngineFailsWhenThatIsGone() throws {
        _ = try engine(refusing, onnxRuntime).open(source)
        // The first engine can read it now, after an update.
        let error = #expect(throws: EngineError.self) { try engine(openVINO, nil).open(source) }
        #expect(
            error?.detail
                == "ONNX Runtime ran it before, because OpenVINO cannot read it: no LinearClassifier; now it is not installed"
        )
    }

    @Test("another version of OpenVINO causes a new choice of engine")
    func anotherVersionOfAnEngineOpensTheQuestionAgain() throws {
        _ = try engine(refusing, onnxRuntime).open(source)
        let opened = try engine(ScriptedEngine("OpenVINO 2"), onnxRuntime).open(source)
        #expect(opened.use?.name == "openvino" && opened.question != nil)
        // The engine changes, and the change is reported.
        #expect(
            opened.use?.reason
                == "other builds of the engines, or another processor, ran it on ONNX Runtime, because OpenVINO cannot read it: no LinearClassifier"
        )
        // The load check's process makes the decision: the daemon's own load must report the change too.
        try #require(opened.question).decide(Self.same)
        let again = try engine(ScriptedEngine("OpenVINO 2"), onnxRuntime).open(source)
        #expect(again.question == nil && again.use?.reason == opened.use?.reason)
    }

    /// A user's own library may have the same version as the included one.
    @Test("another build of the same version of ONNX Runtime causes a new choice of engine")
    func anotherBuildOfAnEngineOpensTheQuestionAgain() throws {
        try #require(try engine(openVINO, onnxRuntime).open(source).question).decide(Self.same)
        #expect(try engine(openVINO, onnxRuntime).open(source).question == nil)
        #expect(try engine(openVINO, ScriptedEngine("ONNX Runtime 1", build: "2")).open(source).question != nil)
    }

    @Test("a file with other contents under the same name gets a separate choice of engine")
    func theChoiceIsOfTheContents() throws {
        let engine = engine(openVINO, onnxRuntime)
        try #require(try engine.open(source).question).decide(Self.wrong("computes it wrongly"))
        try folder.write(["model.onnx": "another model \(UUID().uuidString)"])
        #expect(try engine.open(source).use?.name == "openvino")
    }

    /// Writes one model twice, as a hub's cache keeps it (links to blobs) and as plain files.
    private func twoArrangements() throws {
        let file = ONNXFile(
            [ONNXFile.Node("Add", ["x", "w"], ["y"])], inputs: [("x", [1, 4])], outputs: [("y", [1, 4])],
            weights: [("w", 4, "model.onnx_data")])
        // Decisions are kept for the process: no other test has these weights.
        let weights = Data(UUID().uuidString.utf8.prefix(16))
        let files = FileManager.default
        for (name, bytes) in [("model.onnx", file.bytes), ("model.onnx_data", weights)] {
            for place in ["blobs", "hub", "plain"] {
                let path = folder.url.appendingPathComponent(place)
                try files.createDirectory(at: path, withIntermediateDirectories: true)
                let one = path.appendingPathComponent(name)
                if place != "hub" {
                    try bytes.write(to: one)
                } else {
                    try files.createSymbolicLink(atPath: one.path, withDestinationPath: "../blobs/" + name)
                }
            }
        }
    }

    /// OpenVINO refuses weights that links lead out of the model's folder.
    @Test(
        "a model behind links and its copy in plain files have a choice of engine each, in either order",
        arguments: [["hub", "plain"], ["plain", "hub"]])
    func theChoiceIsOfThePlacesOfTheWeights(_ order: [String]) throws {
        try twoArrangements()
        let hub = folder.url.path + "/hub"
        let engine = engine(ScriptedEngine("OpenVINO 1", refusal: "outside the folder", in: hub), onnxRuntime)
        for place in order + order {
            var source = ModelSource(path: folder.url.path + "/\(place)/model.onnx")
            source.cacheFolder = folder.url.path
            let opened = try engine.open(source)
            opened.question?.decide(Self.same)
            #expect(opened.use?.name == (place == "hub" ? "onnxruntime" : "openvino"), "\(place)")
        }
    }

    @Test("a link to a folder of plain files shares its choice of engine")
    func aLinkToAFolderSharesTheChoice() throws {
        try twoArrangements()
        let link = folder.url.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "plain")
        let engine = engine(openVINO, onnxRuntime)
        try #require(try engine.open(ModelSource(path: folder.url.path + "/plain/model.onnx")).question).decide(
            Self.same)
        #expect(try engine.open(ModelSource(path: link + "/model.onnx")).question == nil)
    }

    @Test(
        "both engines themselves load a model behind links and its copy in plain files, with one cache, in either order",
        .enabled(if: TestEngines.hasONNXRuntime, "\(TestEngines.absence)"),
        arguments: [["hub", "plain"], ["plain", "hub"]])
    func bothArrangementsLoadWithOneCache(_ order: [String]) async throws {
        try twoArrangements()
        var configuration = ModelConfiguration()
        configuration.compile.cacheDirectory = folder.url.path
        for place in order + order {
            let path = folder.url.path + "/\(place)/model.onnx"
            let model = try await Model.load(contentsOf: path, configuration: configuration)
            if place == "plain", order[0] == "plain" { #expect(model.loadReport.engine?.name == "openvino") }
        }
    }

    @Test("without ONNX Runtime the error for a file that OpenVINO cannot read names the package that is not installed")
    func withoutTheSecondEngineTheErrorSaysWhatIsMissing() throws {
        let error = #expect(throws: EngineError.self) { try engine(refusing, nil).open(source) }
        #expect(error?.detail == "no LinearClassifier; ONNX Runtime may be able to run it, but it is not installed")
        let opened = try engine(openVINO, nil).open(source)
        #expect(opened.use?.name == "openvino" && opened.question == nil)
    }

    @Test("a file that neither engine reads fails with the reasons of both engines")
    func whatNeitherReadsNamesBothReasons() throws {
        let second = ScriptedEngine("ONNX Runtime 1", refusal: "no such operator")
        let error = #expect(throws: EngineError.self) { try engine(refusing, second).open(source) }
        #expect(error?.detail == "OpenVINO: no LinearClassifier; ONNX Runtime: read the model file: no such operator")
    }

    @Test("a configured engine is used without asking the other engine")
    func aConfiguredEngineIsTakenWithoutAskingTheOther() throws {
        let engine = engine(openVINO, onnxRuntime)
        var source = source
        source.engine.preference = .onnxruntime
        let opened = try engine.open(source)
        #expect(opened.use?.name == "onnxruntime" && opened.use?.reason == "it is configured (engine)")
        #expect(openVINO.reads.withLock { $0 } == 0)
        source.engine.preference = .openvino
        #expect(try engine.open(source).question == nil)
        #expect(onnxRuntime.reads.withLock { $0 } == 1)
    }

    @Test("an ONNX file for the device gpu:0 runs on ONNX Runtime")
    func aGraphicsProcessorIsTheSecondEngines() throws {
        var source = source
        source.device = "gpu:0"
        let opened = try engine(openVINO, onnxRuntime).open(source)
        #expect(opened.use?.name == "onnxruntime" && opened.use?.reason == "the device is gpu:0")
    }

    @Test("a TensorFlow Lite file runs on OpenVINO, and fails where ONNX Runtime is configured")
    func filesOfOtherFormatsAreTheFirstEngines() throws {
        var source = ModelSource(path: folder.url.path + "/model.tflite")
        #expect(try engine(openVINO, onnxRuntime).open(source).question == nil)
        (source.engine.preference, source.engine.isRequired) = (.onnxruntime, true)
        let error = #expect(throws: EngineError.self) { try engine(openVINO, onnxRuntime).open(source) }
        #expect(error?.detail.contains("ONNX Runtime reads ONNX files") == true)
    }
}
