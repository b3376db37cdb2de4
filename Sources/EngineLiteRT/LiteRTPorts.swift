internal import EngineAPI
internal import FileFormats

/// The inputs and outputs of a TensorFlow Lite file, by its main graph.
///
/// LiteRT's own description leaves out which axes are open. Field numbers: TensorFlow Lite's schema.fbs.
enum LiteRTPorts {
    private static let maximumPorts = 4_096

    static func read(_ file: [UInt8]) throws(EngineError) -> (inputs: [TensorPort], outputs: [TensorPort]) {
        do throws(FormatError) {
            let model = try FlatBuffer(ByteSource(file), identifier: "TFL3").root()
            guard let graph = try model.tables(2, maximum: FlatBuffer.maximumTables)?.first else {
                throw FormatError("has no graph")
            }
            let tensors = try graph.tables(0, maximum: FlatBuffer.maximumTables) ?? []
            func ports(_ field: Int) throws(FormatError) -> [TensorPort] {
                var ports: [TensorPort] = []
                for index in try graph.integers(field, maximum: maximumPorts) ?? [] {
                    guard tensors.indices.contains(index) else { throw FormatError("has no tensor \(index)") }
                    ports.append(try port(tensors[index]))
                }
                return ports
            }
            return (try ports(1), try ports(2))
        } catch {
            throw EngineError(
                kind: .invalidModel, operation: "read the model file with LiteRT", detail: "it \(error.reason)")
        }
    }

    private static func port(_ tensor: FlatBuffer.Table) throws(FormatError) -> TensorPort {
        let name = try tensor.text(3) ?? ""
        let number = Int32(try tensor.number(1, UInt8.self) ?? 0)
        // The file counts from 32-bit floats at 0, LiteRT from 1, in another order.
        guard let type = ElementType(tflite: number) else {
            throw FormatError("has a tensor \"\(name)\" of a type that is not supported (\(number))")
        }
        let shape = try tensor.integers(0, maximum: 8) ?? []
        let signature = try tensor.integers(7, maximum: 8) ?? []
        let open = signature.count == shape.count ? signature : shape
        return TensorPort(
            name: name, elementType: type, shape: Shape(open.map { $0 < 0 ? Shape.dynamic : $0 }))
    }
}

extension ElementType {
    /// The type for a number of TensorFlow Lite's schema (TensorType); nil for types that are not served.
    init?(tflite number: Int32) {
        guard let row = Self.numbers.first(where: { $0.file == number }) else { return nil }
        self = row.type
    }

    /// LiteRT's number of the type; 0 for types that it does not have.
    var litert: Int32 { Self.numbers.first { $0.type == self }?.litert ?? 0 }

    private static let numbers: [(type: ElementType, file: Int32, litert: Int32)] = [
        (.float32, 0, 1), (.float16, 1, 10), (.int32, 2, 2), (.uint8, 3, 3), (.int64, 4, 4), (.bool, 6, 6),
        (.int16, 7, 7), (.int8, 9, 9), (.float64, 10, 11), (.uint64, 12, 13), (.uint32, 15, 16), (.uint16, 16, 17),
    ]
}
