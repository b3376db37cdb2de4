import CLiteRT
import EngineLiteRT
import EngineOpenVINO
import Foundation
import Inference
import TestSupport
import Testing

/// LiteRT as an engine: the inputs and outputs of files, the types of tensors, its kernels, and its library.
@Suite(.enabled(if: TestEngines.hasLiteRT, "\(TestEngines.liteRTAbsence)"))
struct LiteRTTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func read(_ bytes: Data, device: String = "CPU") throws -> any ModelFile {
        let path = folder.url.appendingPathComponent("model.tflite")
        try bytes.write(to: path)
        var source = ModelSource(path: path.path)
        source.device = device
        return try LiteRTEngine(path: "").read(source)
    }

    // MARK: Files

    @Test("inputs and outputs have the names, types and open axes of the file, in its order")
    func ports() throws {
        // Not in the order of the tensors.
        let model = TFLiteModel(
            tensors: [
                .init("scores", [-1, -1, 224, 3]), .init("image", [-1, -1, 224, 3], type: 3, quantization: (0.5, 128)),
                .init("", [], type: 2), .init("mask", [1, 8], type: 9), .init("flags", [1, 8], type: 6),
            ], operators: [.init(53, [1], [0]), .init(53, [3], [4])], inputs: [3, 1, 2], outputs: [4, 0])
        let file = try read(model.bytes)
        #expect(
            file.inputs == [
                TensorPort(name: "mask", elementType: .int8, shape: [1, 8]),
                TensorPort(name: "image", elementType: .uint8, shape: [-1, -1, 224, 3]),
                TensorPort(name: "", elementType: .int32, shape: []),
            ])
        #expect(
            file.outputs == [
                TensorPort(name: "flags", elementType: .bool, shape: [1, 8]),
                TensorPort(name: "scores", elementType: .float32, shape: [-1, -1, 224, 3]),
            ])
        #expect(file.inputIndex(named: "image") == 1 && file.inputIndex(named: "scores") == nil)
        #expect(file.outputIndex(named: "scores") == 1 && file.outputIndex(named: "image") == nil)
    }

    @Test("a file that is cut is refused with a reason at any length")
    func cutFiles() throws {
        let whole = LiteRTFiles.blur().bytes
        for count in stride(from: 0, to: whole.count, by: 16) {
            let error = #expect(throws: EngineError.self, "\(count)") { try read(whole.prefix(count)) }
            #expect(error?.kind == .invalidModel && error?.detail.isEmpty == false, "\(count)")
        }
    }

    @Test("a model that must run on a graphics processor is refused")
    func otherDevices() throws {
        let error = #expect(throws: EngineError.self) { try read(LiteRTFiles.lookup.bytes, device: "GPU") }
        #expect(error?.detail == "it runs on the processor only, and the device is GPU")
    }

    @Test("a file with an operator or a version that LiteRT does not have is refused when it is read")
    func unknownOperators() throws {
        func error(_ node: TFLiteModel.Operator) -> EngineError? {
            let model = TFLiteModel(
                tensors: [.init("x", [4]), .init("y", [4])], operators: [node], inputs: [0], outputs: [1])
            return #expect(throws: EngineError.self) { try read(model.bytes) }
        }
        let version = error(.init(8, version: 99, [0], [1]))
        #expect(version?.kind == .invalidModel)
        #expect(version?.detail == "it has operators, or versions of operators, that LiteRT does not run")
        // 32 is an operator with a name of its own.
        let custom = error(.init(32, [0], [1], name: "Sharpen"))
        #expect(custom?.kind == .invalidModel && custom?.detail == "it does not have the operator Sharpen")
    }

    // MARK: Tensors

    /// A type by its number in the file, with four values of it, and the same as numbers.
    struct TypeCase: Sendable, CustomStringConvertible {
        let number: UInt8, type: ElementType, bytes: [UInt8], numbers: [Float]
        var description: String { type.rawValue }

        init<T>(_ number: UInt8, _ type: ElementType, _ values: [T], _ numbers: [Float]) {
            self.number = number
            self.type = type
            bytes = LiteRTFiles.bytes(values)
            self.numbers = numbers
        }
    }

    static let types = [
        TypeCase(0, .float32, [-2, 0, 0.5, 1e6] as [Float], [-2, 0, 0.5, 1e6]),
        TypeCase(2, .int32, [.min, -1, 7, 1 << 24] as [Int32], [-2_147_483_648, -1, 7, 16_777_216]),
        TypeCase(3, .uint8, [0, 127, 128, 255] as [UInt8], [0, 127, 128, 255]),
        TypeCase(4, .int64, [-1 << 40, -1, 7, 1 << 40] as [Int64], [-1_099_511_627_776, -1, 7, 1_099_511_627_776]),
        TypeCase(6, .bool, [1, 0, 0, 1] as [UInt8], [1, 0, 0, 1]),
        TypeCase(7, .int16, [.min, -1, 7, .max] as [Int16], [-32_768, -1, 7, 32_767]),
        TypeCase(9, .int8, [-128, -1, 7, 127] as [Int8], [-128, -1, 7, 127]),
    ]

    @Test("tensors of each type are read as inputs", arguments: types)
    func inputTypes(_ kind: TypeCase) throws {
        let compiled = try LiteRTFiles.cast(from: kind.number, to: 0).compiled(in: folder)
        let request = try compiled.makeRequest()
        try request.run(try compiled.tensor(kind.bytes, kind.type, [4]))
        #expect(try request.values(Float.self) == kind.numbers)
    }

    @Test("tensors of each type are written as outputs", arguments: types)
    func outputTypes(_ kind: TypeCase) throws {
        let compiled = try LiteRTFiles.cast(from: 0, to: kind.number).compiled(in: folder)
        #expect(compiled.outputs.map(\.elementType) == [kind.type])
        let request = try compiled.makeRequest()
        try request.run(try compiled.tensor(kind.numbers, .float32, [4]))
        #expect(try request.values(UInt8.self) == kind.bytes)
    }

    @Test("8-bit tensors are given and returned as they are in the file, without their scale")
    func quantizedTensors() throws {
        // 6 is DEQUANTIZE: (value - zero point) * scale.
        let model = TFLiteModel(
            tensors: [.init("x", [4], type: 9, quantization: (0.5, 3)), .init("y", [4])],
            operators: [.init(6, version: 2, [0], [1])], inputs: [0], outputs: [1])
        let compiled = try model.compiled(in: folder), request = try compiled.makeRequest()
        try request.run(try compiled.tensor([-128, 3, 4, 127] as [Int8], .int8, [4]))
        #expect(try request.values(Float.self) == [-65.5, 0, 0.5, 62])
    }

    @Test("a tensor of another type than the input's is refused, and the request can be used afterwards")
    func wrongTypes() throws {
        let compiled = try LiteRTFiles.cast(from: 0, to: 2).compiled(in: folder), request = try compiled.makeRequest()
        let error = #expect(throws: EngineError.self) {
            try request.run(try compiled.tensor([1, 2, 3, 4] as [Int32], .int32, [4]))
        }
        #expect(error?.kind == .invalidInput && error?.detail == "it has int32 instead of float32")
        try request.run(try compiled.tensor([1, 2, 3, 4] as [Float], .float32, [4]))
        #expect(try request.values(Int32.self) == [1, 2, 3, 4])
    }

    @Test("an inference without all of its inputs does not start")
    func missingInputs() throws {
        let request = try LiteRTFiles.lookup.compiled(in: folder).makeRequest()
        let error = #expect(throws: EngineError.self) { try request.run() }
        #expect(error?.detail == "input \"x\" is not set")
    }

    @Test("a tensor of one engine is refused by another one")
    func tensorsOfOtherEngines() throws {
        let path = folder.url.appendingPathComponent("model.tflite").path
        let lite = try read(LiteRTFiles.cast(from: 0, to: 2).bytes).compile(CompileOptions())
        let vino = try OpenVINOEngine.shared().read(ModelSource(path: path)).compile(CompileOptions())
        for (owner, other) in [(lite, vino), (vino, lite)] {
            let tensor = try other.tensor([1, 2, 3, 4] as [Float], .float32, [4])
            let request = try owner.makeRequest()
            let error = #expect(throws: EngineError.self) { try request.setInput(0, to: tensor) }
            #expect(error?.detail == "the tensor belongs to another engine")
        }
    }

    // MARK: Kernels

    @Test("the other kernels give values that are close and are computed in another order")
    func kernelsDiffer() throws {
        var random = SplitMix(seed: 7)
        func numbers(_ count: Int) -> [Float] { (0..<count).map { _ in Float.random(in: -1...1, using: &random) } }
        let channels = 64,
            model = TFLiteModel(
                tensors: [
                    .init("x", [1, 16, 16, channels]),
                    .init("w", [8, 3, 3, channels], constant: LiteRTFiles.bytes(numbers(8 * 9 * channels))),
                    .init("b", [8], constant: LiteRTFiles.bytes(numbers(8))), .init("y", [1, 14, 14, 8]),
                ], operators: [LiteRTFiles.convolution([0, 1, 2], [3])], inputs: [0], outputs: [3])
        let engine = try LiteRTEngine(path: ""), input = numbers(256 * channels)
        let answers = try [engine, engine.with(.builtin)].map { engine in
            let compiled = try model.compiled(in: folder, on: engine), request = try compiled.makeRequest()
            try request.run(try compiled.tensor(input, .float32, [1, 16, 16, channels]))
            return try request.values(Float.self)
        }
        let largest = zip(answers[0], answers[1]).map { abs($0 - $1) }.max() ?? 0
        #expect(answers[0].count == 14 * 14 * 8)
        // Sums of 576 products of numbers up to 1.
        #expect(largest > 0 && largest < 1e-3, "\(largest)")
    }

    // MARK: The library

    @Test("the version is that of the library's file, and its digest tells builds apart")
    func versions() throws {
        let engine = try LiteRTEngine(path: "")
        #expect(engine.version.wholeMatch(of: /LiteRT \d+\.\d+\.\d+/) != nil, "\(engine.version)")
        #expect(engine.build.count == 32)
        #expect(engine.with(.builtin).build == engine.build)
    }

    @Test("a library that is missing is refused by the name of the setting, and a second one until a restart")
    func missingLibraries() throws {
        _ = try LiteRTEngine(path: "")
        let missing = #expect(throws: EngineError.self) { try LiteRTEngine(path: "/nowhere/litert") }
        #expect(
            missing?.message
                == "the engine could not use LiteRT: litert_path: /nowhere/litert is neither a file nor a folder that holds libLiteRt.so"
        )
        let copy = folder.url.appendingPathComponent("libLiteRt.so")
        try FileManager.default.createSymbolicLink(at: copy, withDestinationURL: TestEngines.liteRT)
        let second = #expect(throws: EngineError.self) { try LiteRTEngine(path: copy.path) }
        #expect(second?.detail.hasSuffix(" is in use: restart Ocelli to use \(copy.path)") == true)
    }

    @Test("a library that is not LiteRT is refused with the first function that it lacks, or the linker's reason")
    func otherLibraries() throws {
        let functions = UnsafeMutablePointer<litert_api>.allocate(capacity: 1)
        defer { functions.deallocate() }
        func reason(_ path: String) -> String? {
            var reason = [CChar](repeating: 0, count: 512)
            if litert_open(path, functions, &reason, reason.count) { return nil }
            return String(decoding: reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        let text = folder.url.appendingPathComponent("libLiteRt.so")
        try Data("no library".utf8).write(to: text)
        #expect(reason(text.path)?.hasPrefix(text.path + ": ") == true)
        // The C library is loaded in any case.
        #expect(reason("libc.so.6") == "it has no LiteRtCreateEnvironment: it is not LiteRT 2.3")
        #expect(reason(TestEngines.liteRT.path) == nil)
    }
}
