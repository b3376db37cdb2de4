import CoreMLImport
internal import EngineImporters
import Foundation
import Inference
import TestSupport
import Testing

/// The comparison of loaded classical models with the referee. No engine is needed: the importer evaluates them.
@Suite struct CoreMLConfirmationTests {
    private static let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/coreml/classical")

    private static let names: [String] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.filter { $0.hasSuffix(".mlmodel") }.sorted()
    }()

    /// Gives the importer memory, and reads nothing.
    private final class MemoryTarget: ImportTarget {
        let version = "memory 1"
        func availableDevices() throws(EngineError) -> [ComputeDevice] { [] }
        func read(_ source: ModelSource) throws(EngineError) -> any ModelFile { throw Self.refusal }
        func readFile(
            _ path: String, integerWeights: IntegerWeights?, key: ExportKey?
        ) throws(EngineError) -> any ModelFile { throw Self.refusal }
        func read(_ graph: Graph, folders: [String]) throws(EngineError) -> any ModelFile { throw Self.refusal }
        func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor {
            MemoryTensor(elementType, shape, count: try elementType.size(of: shape))
        }

        private static let refusal = EngineError(kind: .failure, operation: "read", detail: "it reads nothing")
    }

    /// `@unchecked Sendable`: the tests use it on one thread.
    private final class MemoryTensor: EngineTensor, @unchecked Sendable {
        let elementType: ElementType, shape: Shape
        let bytes: UnsafeMutableRawBufferPointer

        init(_ elementType: ElementType, _ shape: Shape, count: Int) {
            (self.elementType, self.shape) = (elementType, shape)
            bytes = .allocate(byteCount: count, alignment: 8)
            bytes.initializeMemory(as: UInt8.self, repeating: 0)
        }

        deinit { bytes.deallocate() }
    }

    private static func compiled(_ path: String) throws -> any CompiledModel {
        try CoreMLImporter(target: MemoryTarget()).read(ModelSource(path: path)).compile(CompileOptions())
    }

    private static func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    @Test("every classical fixture is confirmed, except those that suppress boxes", arguments: names)
    func confirmed(_ name: String) throws {
        let path = Self.path(name)
        let outcome = CoreMLConfirmation(path: path, compiled: try Self.compiled(path)).outcome()
        if name.hasPrefix("suppression") {
            #expect(outcome == .impossible("no independent evaluation of non-maximum suppression exists"))
        } else if case .confirmed(let rows, let largest) = outcome {
            #expect(rows >= 4 && largest < 1e-9, "\(rows) rows, \(largest)")
        } else {
            Issue.record("\(name): \(outcome)")
        }
    }

    @Test("a model that was loaded from another file than the referee reads differs, with the output and both values")
    func anotherFile() throws {
        let compiled = try Self.compiled(Self.path("svc_linear_3.mlmodel"))
        let outcome = CoreMLConfirmation(path: Self.path("svc_rbf_3.mlmodel"), compiled: compiled).outcome()
        guard case .differs(let reason) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reason.hasPrefix("output \"class") && reason.contains(" instead of "), "\(reason)")
    }

    @Test("a model that answers for unknown categories differs if the file refuses them, and the other way around")
    func unknownCategories() throws {
        let strict = Self.path("one_hot_error.mlmodel"), lenient = Self.path("one_hot_ignore.mlmodel")
        #expect(
            CoreMLConfirmation(path: strict, compiled: try Self.compiled(lenient)).outcome()
                == .differs(
                    "it answers a row that the file refuses: \"no such category\" is a category that the file does not know"
                ))
        let outcome = CoreMLConfirmation(path: lenient, compiled: try Self.compiled(strict)).outcome()
        guard case .differs(let reason) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reason.hasPrefix("it refuses a row that the file accepts: "), "\(reason)")
    }

    @Test("a network and a missing file are impossible to confirm, with the reason")
    func impossible() throws {
        let compiled = try Self.compiled(Self.path("scaler.mlmodel"))
        let network = Self.folder.deletingLastPathComponent().appendingPathComponent("product/colors.mlmodel").path
        #expect(
            CoreMLConfirmation(path: network, compiled: compiled).outcome()
                == .impossible("no independent evaluation of neural networks exists"))
        #expect(
            CoreMLConfirmation(path: Self.path("absent.mlmodel"), compiled: compiled).outcome()
                == .impossible("the file cannot be read"))
    }
}
