import Dispatch
import EngineLiteRT
import Foundation
import Inference
import Synchronization
import TestSupport
import Testing

/// Inferences of LiteRT: changes of shapes, batches, failures, cancellation, several at once, and their memory.
@Suite(.enabled(if: TestEngines.hasLiteRT, "\(TestEngines.liteRTAbsence)"), .serialized)
struct LiteRTRequestTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Pictures, each of one color.
    private func pictures(
        _ colors: [[Float]], height: Int, width: Int, for compiled: any CompiledModel
    ) throws -> any EngineTensor {
        let values = colors.flatMap { color in (0..<height * width).flatMap { _ in color } }
        return try compiled.tensor(values, .float32, [colors.count, height, width, 3])
    }

    /// Checks that the answer is one row of three for each color.
    private func isAnswer(_ request: any InferRequest, _ colors: [[Float]]) throws -> Bool {
        let shape = try request.withOutput(0) { shape, _ in shape }
        return try shape == [colors.count, 3]
            && zip(request.values(Float.self), colors.joined()).allSatisfy { abs($0 - $1) <= 1e-4 * max(1, abs($1)) }
    }

    private static func colors(_ count: Int, _ random: inout SplitMix) -> [[Float]] {
        (0..<count).map { _ in (0..<3).map { _ in Float.random(in: -50...50, using: &random) } }
    }

    // MARK: Shapes

    @Test("batches of any size and pictures of any size, one after another, have the answers of their own colors")
    func shapesChange() throws {
        let compiled = try LiteRTFiles.blur().compiled(in: folder), request = try compiled.makeRequest()
        let seed = SplitMix.seed(for: "shapesChange")
        var random = SplitMix(seed: seed)
        for round in 0..<200 {
            let colors = Self.colors(Int.random(in: 1...4, using: &random), &random)
            let height = Int.random(in: 7...40, using: &random), width = Int.random(in: 7...40, using: &random)
            // Each shape twice: the second inference is not prepared again.
            for _ in 0..<2 {
                try request.run(try pictures(colors, height: height, width: width, for: compiled))
                #expect(
                    try isAnswer(request, colors), "seed \(seed), round \(round): \(colors.count)x\(height)x\(width)")
            }
        }
    }

    @Test("a shape that the model does not take is the caller's mistake, and the request runs others afterwards")
    func wrongShapes() throws {
        let compiled = try LiteRTFiles.blur().compiled(in: folder), request = try compiled.makeRequest()
        let colors: [[Float]] = [[1, 2, 3], [4, 5, 6]]
        for round in 0..<3 {
            // Four channels; too small for three convolutions without padding; another rank.
            for shape in [[1, 9, 9, 4], [1, 5, 9, 3], [9, 9, 3]] as [Shape] {
                let values = [Float](repeating: 0, count: shape.elementCount ?? 0)
                let error = #expect(throws: EngineError.self, "\(shape)") {
                    try request.run(try compiled.tensor(values, .float32, shape))
                }
                #expect(
                    error?.kind == .invalidInput && error?.operation == "image", "\(round), \(shape): \(error as Any)")
                #expect(error?.detail.contains("\"image\" \(shape)") == true, "\(shape): \(error as Any)")
            }
            try request.run(try pictures(colors, height: 9, width: 11, for: compiled))
            #expect(try isAnswer(request, colors), "\(round)")
        }
    }

    @Test(
        "an output whose shape is computed is an error in every inference, and not zeros",
        arguments: [(109, UInt8(6)), (103, 0)])
    func computedShapes(code: Int, type: UInt8) throws {
        // 109 is WHERE, of flags; 103 is UNIQUE, of numbers, with the place of each among them.
        var tensors: [TFLiteModel.Tensor] = [.init("x", [4], type: type), .init("found", [-1, 1], type: 4)]
        if code == 103 { tensors = [.init("x", [4], type: type), .init("found", [-1]), .init("places", [4], type: 2)] }
        let outputs = Array(1..<tensors.count)
        let model = TFLiteModel(
            tensors: tensors,
            operators: [.init(code, [0], outputs, options: code == 103 ? (80, [(0, .byte(2))]) : nil)],
            inputs: [0], outputs: outputs)
        let compiled = try model.compiled(in: folder), request = try compiled.makeRequest()
        for _ in 0..<4 {
            let error = #expect(throws: EngineError.self) {
                if code == 109 {
                    try request.run(try compiled.tensor([1, 0, 1, 1] as [UInt8], .bool, [4]))
                } else {
                    try request.run(try compiled.tensor([5, 6, 5, 7] as [Float], .float32, [4]))
                }
            }
            #expect(error?.kind == .failure, "\(error as Any)")
        }
    }

    @Test("outputs that equal the bytes that memory is filled with are answers", arguments: [0xA5, 0x5A] as [UInt8])
    func answersOfThePattern(byte: UInt8) throws {
        let compiled = try LiteRTFiles.cast(from: 0, to: 3).compiled(in: folder), request = try compiled.makeRequest()
        for _ in 0..<3 {
            try request.run(try compiled.tensor([Float](repeating: Float(byte), count: 4), .float32, [4]))
            #expect(try request.values(UInt8.self) == [byte, byte, byte, byte])
        }
    }

    // MARK: Failures

    @Test("an input that an operator refuses is refused every time, and no other input is affected")
    func failures() throws {
        let compiled = try LiteRTFiles.lookup.compiled(in: folder)
        let seed = SplitMix.seed(for: "failures"), problems = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { lane in
            var random = SplitMix(seed: seed &+ UInt64(lane))
            do {
                let request = try compiled.makeRequest()
                for round in 0..<200 {
                    let indices = (0..<4).map { _ in Int32.random(in: -1...10, using: &random) }
                    let expected = indices.map { Float($0 * 10) }, isRefused = indices.contains { $0 < 0 || $0 > 9 }
                    var found: [Float]?
                    do {
                        try request.run(try compiled.tensor(indices, .int32, [4]))
                        found = try request.values(Float.self)
                    } catch let error as EngineError where error.kind == .failure {
                        found = nil
                    }
                    if found != (isRefused ? nil : expected) {
                        problems.withLock { $0.append("lane \(lane), round \(round), \(indices): \(found as Any)") }
                    }
                }
            } catch {
                problems.withLock { $0.append("\(error)") }
            }
        }
        #expect(problems.withLock { $0 }.isEmpty, "seed \(seed): \(problems.withLock { $0.prefix(5) })")
    }

    // MARK: Cancellation

    @Test("a cancelled inference stops between two operators, and the request then runs to the end")
    func cancellation() throws {
        let file = PoolingFile(layers: 40, side: 128, engine: "litert")
        let path = folder.url.appendingPathComponent(file.name)
        try file.bytes.write(to: path)
        let compiled = try LiteRTEngine(path: "").read(ModelSource(path: path.path)).compile(CompileOptions())
        let request = try compiled.makeRequest()
        let values = [Float](repeating: 7, count: 128 * 128 * 3)
        for _ in 0..<2 {
            let ended = DispatchSemaphore(value: 0)
            try request.setInput(0, to: try compiled.tensor(values, .float32, [1, 128, 128, 3]))
            try request.start { ended.signal() }
            Thread.sleep(forTimeInterval: 0.05)
            request.cancel()
            ended.wait()
            let error = #expect(throws: EngineError.self) { try request.finish() }
            #expect(error?.kind == .cancelled, "\(error as Any)")
        }
        // A cancellation after the end is not for the next inference.
        request.cancel()
        try request.run(try compiled.tensor(values, .float32, [1, 128, 128, 3]))
        #expect(try request.values(Float.self).allSatisfy { abs($0 - 7) < 1e-3 })
    }

    // MARK: Several at once

    @Test("requests of one model on several threads have the answers of their own inputs, with changing shapes")
    func severalThreads() throws {
        let compiled = try LiteRTFiles.blur(layers: 6).compiled(in: folder)
        let seed = SplitMix.seed(for: "severalThreads"), problems = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { lane in
            var random = SplitMix(seed: seed &+ UInt64(lane))
            do {
                let request = try compiled.makeRequest()
                for round in 0..<150 {
                    let colors = Self.colors(1 + round / 10 % 3, &random)
                    try request.run(
                        try pictures(colors, height: 20 + round / 10, width: 30, for: compiled))
                    if try !isAnswer(request, colors) {
                        problems.withLock { $0.append("lane \(lane), round \(round)") }
                    }
                }
            } catch {
                problems.withLock { $0.append("\(error)") }
            }
        }
        #expect(problems.withLock { $0 }.isEmpty, "seed \(seed): \(problems.withLock { $0.prefix(5) })")
    }

    // MARK: Memory

    /// The anonymous memory of the process in KiB.
    private static var memory: Int {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("RssAnon:") } ?? ""
        return Int(line.split { !$0.isNumber }.first ?? "") ?? 0
    }

    @Test("300 loads leave no memory behind")
    func loads() throws {
        // Its weights are half a mebibyte: as much as a leak of them would add to each load.
        let count = 1 << 17
        let model = TFLiteModel(
            tensors: [
                .init("x", [1, 256]),
                .init("w", [count / 256, 256], constant: LiteRTFiles.bytes([Float](repeating: 0.5, count: count))),
                .init("y", [1, count / 256]),
            ], operators: [.init(9, [0, 1, -1], [2], options: (8, []))], inputs: [0], outputs: [2])
        let path = folder.url.appendingPathComponent("model.tflite")
        try model.bytes.write(to: path)
        func load() throws {
            let compiled = try LiteRTEngine(path: "").read(ModelSource(path: path.path)).compile(CompileOptions())
            // The second request has its own instance.
            for request in [try compiled.makeRequest(), try compiled.makeRequest()] {
                try request.run(try compiled.tensor([Float](repeating: 1, count: 256), .float32, [1, 256]))
                #expect(try request.values(Float.self).allSatisfy { $0 == 128 })
            }
        }
        for _ in 0..<30 { try load() }
        let before = Self.memory
        for _ in 0..<300 { try load() }
        #expect(Self.memory < before + (24 << 10), "\(Self.memory) KiB instead of \(before)")
    }
}
