internal import CONNXRuntime
internal import EngineAPI

extension ElementType {
    /// The type for a number of ONNX Runtime; nil for types that our tensors do not have.
    init?(ort number: Int32) {
        guard let type = Self.ortNumbers.first(where: { $0.value == number })?.key else { return nil }
        self = type
    }

    /// ONNX Runtime's number of the type (TensorProto.DataType).
    var ort: Int32 { Self.ortNumbers[self] ?? 0 }

    private static let ortNumbers: [ElementType: Int32] = [
        .float32: 1, .uint8: 2, .int8: 3, .uint16: 4, .int16: 5, .int32: 6, .int64: 7, .string: 8, .bool: 9,
        .float16: 10,
        .float64: 11, .uint32: 12, .uint64: 13, .bfloat16: 16,
    ]
}

/// The type of an input or output.
enum ORTType {
    case tensor(ElementType, Shape)
    /// A sequence of maps to floats, one for each row.
    case maps
    /// A sequence of tensors with elements of a type.
    case tensors(ElementType)
    /// A map to floats.
    case map
    /// Another type, with its name.
    case unsupported(String)

    /// Reads a type.
    init(_ type: OpaquePointer, in library: ORTLibrary) throws(EngineError) {
        let api = library.api
        var kind: Int32 = 0
        try library.check("read a type", ort_type_kind(api, type, &kind))
        switch kind {
        case 1:
            let info = try library.make("read a type") { ort_as_tensor(api, type, &$0) }
            let (element, shape) = try library.tensor(info)
            self = element.map { .tensor($0, shape) } ?? .unsupported("a tensor of an unknown type")
        case 2:
            let sequence = try library.make("read a type") { ort_as_sequence(api, type, &$0) }
            let element = try library.make("read a type") { ort_sequence_element(api, sequence, &$0) }
            defer { ort_release_type_info(api, element) }
            switch try ORTType(element, in: library) {
            case .tensor(let element, _): self = .tensors(element)
            case .map: self = .maps
            case .tensors, .maps: self = .unsupported("a sequence of sequences")
            case .unsupported(let name): self = .unsupported("a sequence of \(name)")
            }
        case 3:
            let map = try library.make("read a type") { ort_as_map(api, type, &$0) }
            let value = try library.make("read a type") { ort_map_value_type(api, map, &$0) }
            defer { ort_release_type_info(api, value) }
            if case .tensor(.float32, _) = try ORTType(value, in: library) {
                self = .map
            } else {
                self = .unsupported("a map with values other than floats")
            }
        case 5: self = .unsupported("a sparse tensor")
        case 6: self = .unsupported("an optional value")
        default: self = .unsupported("of an unknown kind")
        }
    }
}

extension ORTLibrary {
    /// The element type (nil if our tensors do not have it) and the shape of a tensor.
    func tensor(_ info: OpaquePointer) throws(EngineError) -> (ElementType?, Shape) {
        var type: Int32 = 0, rank = 0
        try check("read a tensor's type", ort_element_type(api, info, &type))
        try check("read a tensor's shape", ort_rank(api, info, &rank))
        var extents = [Int64](repeating: 0, count: rank)
        try check("read a tensor's shape", ort_extents(api, info, &extents, rank))
        return (ElementType(ort: type), Shape(extents.map { $0 < 0 ? Shape.dynamic : Int(clamping: $0) }))
    }

    /// The element type and the shape of a value that is a tensor.
    func tensor(of value: OpaquePointer) throws(EngineError) -> (ElementType?, Shape) {
        let info = try make("read a tensor") { ort_tensor_info_of(api, value, &$0) }
        defer { ort_release_tensor_info(api, info) }
        return try tensor(info)
    }
}
