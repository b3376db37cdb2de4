import CoreMLImport
internal import EngineImporters
import Foundation
import Inference
import Synchronization
import TestSupport
import Testing

/// The importers with an engine other than OpenVINO: the files and graphs that they pass to it.
@Suite struct ImportingEngineTests {
    private static let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures")

    /// Records the files and graphs that it is asked to read.
    private final class RecordingTarget: ImportTarget {
        let version = "recorder 1"
        let inexactIntegers: String?
        let refusesRewritten: Bool
        let calls = Mutex<[Call]>([])

        struct Call: Equatable {
            var path = ""
            var bytes: [UInt8] = []
            var weights: IntegerWeights?
            /// The number of nodes of a graph.
            var nodes = 0
        }

        init(inexactIntegers: String? = nil, refusesRewritten: Bool = false) {
            self.inexactIntegers = inexactIntegers
            self.refusesRewritten = refusesRewritten
        }

        func availableDevices() throws(EngineError) -> [ComputeDevice] { [] }
        func read(_ source: ModelSource) throws(EngineError) -> any ModelFile {
            try readFile(source.path, integerWeights: nil, key: nil)
        }
        func readFile(
            _ path: String, integerWeights: IntegerWeights?, key: ExportKey?
        ) throws(EngineError) -> any ModelFile {
            let bytes = (try? Data(contentsOf: URL(fileURLWithPath: path))).map { [UInt8]($0) } ?? []
            calls.withLock { $0.append(Call(path: path, bytes: bytes, weights: integerWeights)) }
            if refusesRewritten, integerWeights?.reason == nil, integerWeights != nil {
                throw EngineError(kind: .invalidModel, operation: "read", detail: "cannot take it")
            }
            return RecordedFile()
        }
        func read(_ graph: Graph, folders: [String]) throws(EngineError) -> any ModelFile {
            calls.withLock { $0.append(Call(nodes: graph.nodes.count)) }
            return RecordedFile()
        }
        func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor {
            throw EngineError(kind: .failure, operation: "make a tensor", detail: "the recorder has no memory")
        }
    }

    private struct RecordedFile: ModelFile {
        let inputs: [TensorPort] = [], outputs: [TensorPort] = []
        func inputIndex(named name: String) -> Int? { 0 }
        func outputIndex(named name: String) -> Int? { 0 }
        func compile(_ options: CompileOptions) throws(EngineError) -> any CompiledModel {
            throw EngineError(kind: .failure, operation: "compile", detail: "the recorder does not")
        }
    }

    private static func calls(
        _ path: String, _ target: RecordingTarget = RecordingTarget(), allowsIntegers: Bool = false
    ) throws -> [RecordingTarget.Call] {
        var source = ModelSource(path: fixtures.appendingPathComponent(path).path)
        source.allowsIntegerWeights = allowsIntegers
        _ = try ImportingEngine(target).read(source)
        return target.calls.withLock { $0 }
    }

    @Test("a Core ML neural network reaches the engine as a graph, not as a file")
    func coreMLNetwork_comesAsAGraph() throws {
        let calls = try Self.calls("coreml/networks/acos.mlmodel")
        #expect(calls.count == 1 && calls[0].nodes > 0 && calls[0].path.isEmpty)
    }

    @Test("a classical Core ML model is not passed to the engine, which only creates its tensors")
    func classicalModel_doesNotReachTheEngine() throws {
        #expect(try Self.calls("coreml/classical/array_extractor.mlmodel").isEmpty)
        // The engine allocates its memory.
        let path = Self.fixtures.appendingPathComponent("coreml/classical/array_extractor.mlmodel").path
        let file = try ImportingEngine(RecordingTarget()).read(ModelSource(path: path))
        let model = try file.compile(CompileOptions())
        #expect(throws: EngineError.self) { try model.makeTensor(elementType: .float32, shape: [1]) }
    }

    @Test("a model file that needs no import is passed to the engine unchanged")
    func plainFile_isHandedOnAsItIs() throws {
        for path in ["quantized/qdq.xml", "integer-weights/mobilenet.tflite"] {
            let calls = try Self.calls(path)
            #expect(calls.map(\.path) == [Self.fixtures.appendingPathComponent(path).path] && calls[0].weights == nil)
        }
    }

    @Test("a file with unsigned weights reaches the engine rewritten, or unchanged with the reason")
    func unsignedWeights_areRewrittenBeforeTheEngineReadsThem() throws {
        let path = "integer-weights/mobilenet.tflite", original = Self.fixtures.appendingPathComponent(path)
        let whole = [UInt8](try Data(contentsOf: original))
        let calls = try Self.calls(path, allowsIntegers: true)
        #expect(calls.count == 1 && calls[0].path != original.path && calls[0].weights?.reason == nil)
        #expect(calls[0].bytes.count > whole.count && calls[0].bytes.suffix(whole.count) == whole[...])
        // If the engine is not exact, or refuses the rewritten file, it gets the original with the reason.
        let inexact = try Self.calls(path, RecordingTarget(inexactIntegers: "it rounds"), allowsIntegers: true)
        #expect(inexact.map(\.path) == [original.path] && inexact[0].weights?.reason == "it rounds")
        let refused = try Self.calls(path, RecordingTarget(refusesRewritten: true), allowsIntegers: true)
        #expect(refused.count == 2 && refused[1].path == original.path)
        #expect(refused[1].weights?.reason?.contains("cannot take it") == true)
    }

    @Test("the detection operator at the end of a TensorFlow Lite file is removed before the engine reads it")
    func operatorAtTheEnd_isCutOff() throws {
        let path = "observations/ssd_fast/model.tflite"
        let whole = [UInt8](try Data(contentsOf: Self.fixtures.appendingPathComponent(path)))
        let target = RecordingTarget()
        // The recorder's file has no outputs for the operator's inputs.
        _ = try? Self.calls(path, target)
        let calls = target.calls.withLock { $0 }, cut = try DetectionOperator(whole)?.file
        #expect(calls.count == 1 && calls[0].bytes == cut && calls[0].bytes != whole)
    }

    @Test("a web page or text file in a model's place is refused before the engine reads it")
    func webPageInTheModelsPlace_doesNotReachTheEngine() throws {
        let folder = try TemporaryFolder()
        try folder.write(["m.onnx": "<!DOCTYPE html><html></html>", "n.ONNX": "404: not found"])
        for (name, words) in [("m.onnx", "is a web page"), ("n.ONNX", "is a text file")] {
            let target = RecordingTarget()
            let error = #expect(throws: EngineError.self) {
                try ImportingEngine(target).read(ModelSource(path: folder.url.appendingPathComponent(name).path))
            }
            #expect(error?.message.contains(words) == true && target.calls.withLock { $0.isEmpty }, "\(name)")
        }
    }
}
