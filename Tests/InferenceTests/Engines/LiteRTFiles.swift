import Dispatch
import EngineLiteRT
import Foundation
import Inference
import TestSupport

/// TensorFlow Lite files with answers that are known without an engine. Numbers of operators and options: TensorFlow
/// Lite's schema.fbs.
enum LiteRTFiles {
    /// The bytes of values, as they are in memory.
    static func bytes<T>(_ values: [T]) -> [UInt8] { values.withUnsafeBytes { [UInt8]($0) } }

    /// Casts `x`, of four values, to another type: `y`.
    static func cast(from type: UInt8, to other: UInt8) -> TFLiteModel {
        TFLiteModel(
            tensors: [.init("x", [4], type: type), .init("y", [4], type: other)], operators: [.init(53, [0], [1])],
            inputs: [0], outputs: [1])
    }

    /// Convolutions over 3 x 3 pixels that take the mean, without padding, and the mean of each channel, `mean`: for
    /// a picture of one color that color. All axes of `image` except for the channels are open.
    static func blur(layers: Int = 3) -> TFLiteModel {
        var tensors: [TFLiteModel.Tensor] = [
            .init("image", [-1, -1, -1, 3]),
            .init("weights", [3, 3, 3, 3], constant: bytes(weights { $0 == $1 ? 1 / 9 : 0 })),
            .init("bias", [3], constant: bytes([0, 0, 0] as [Float])),
            .init("axes", [2], type: 2, constant: bytes([1, 2] as [Int32])), .init("mean", [-1, 3]),
        ]
        var operators: [TFLiteModel.Operator] = [], last = 0
        for layer in 0..<layers {
            tensors.append(.init("x\(layer)", [-1, -1, -1, 3]))
            operators.append(convolution([last, 1, 2], [tensors.count - 1]))
            last = tensors.count - 1
        }
        operators.append(.init(40, [last, 3], [4], options: (27, [])))
        return TFLiteModel(tensors: tensors, operators: operators, inputs: [0], outputs: [4])
    }

    /// Weights by output and input channel, equal for all pixels of the window.
    private static func weights(_ value: (Int, Int) -> Float) -> [Float] {
        (0..<3).flatMap { output in (0..<9).flatMap { _ in (0..<3).map { value(output, $0) } } }
    }

    /// CONV_2D without padding, with strides and dilations of 1.
    static func convolution(_ inputs: [Int], _ outputs: [Int]) -> TFLiteModel.Operator {
        .init(
            3, inputs, outputs,
            options: (1, [(0, .byte(1)), (1, .int(1)), (2, .int(1)), (4, .int(1)), (5, .int(1))]))
    }

    /// Looks four values up in a table of ten, by their indices: `y` is 10 times `x`.
    static let lookup = TFLiteModel(
        tensors: [
            .init("table", [10], constant: bytes((0..<10).map { Float($0 * 10) })), .init("x", [4], type: 2),
            .init("y", [4]),
        ], operators: [.init(36, [0, 1], [2])], inputs: [1], outputs: [2])
}

extension TFLiteModel {
    /// Writes the file into a folder, and compiles it.
    func compiled(
        in folder: TemporaryFolder, on engine: LiteRTEngine? = nil, _ options: CompileOptions = CompileOptions()
    ) throws -> any CompiledModel {
        let path = folder.url.appendingPathComponent("\(UUID().uuidString).tflite")
        try bytes.write(to: path)
        return try (engine ?? LiteRTEngine(path: "")).read(ModelSource(path: path.path)).compile(options)
    }
}

extension CompiledModel {
    /// A tensor of values.
    func tensor<T>(_ values: [T], _ type: ElementType, _ shape: Shape) throws -> any EngineTensor {
        let tensor = try makeTensor(elementType: type, shape: shape)
        let bytes = LiteRTFiles.bytes(values)
        guard bytes.count == tensor.bytes.count else { throw WrongSize(bytes: bytes.count, shape: shape) }
        tensor.bytes.copyBytes(from: bytes)
        return tensor
    }
}

/// Values that are not those of a tensor of the shape.
struct WrongSize: Error {
    let bytes: Int
    let shape: Shape
}

extension InferRequest {
    /// Runs an inference, and waits for its end.
    func run(_ inputs: any EngineTensor...) throws {
        for (index, tensor) in inputs.enumerated() { try setInput(index, to: tensor) }
        let ended = DispatchSemaphore(value: 0)
        try start { ended.signal() }
        ended.wait()
        try finish()
    }

    /// The values of the first output.
    func values<T>(_ type: T.Type) throws -> [T] {
        try withOutput(0) { _, bytes in
            (0..<bytes.count / MemoryLayout<T>.stride).map {
                bytes.loadUnaligned(fromByteOffset: $0 * MemoryLayout<T>.stride, as: type)
            }
        }
    }
}
