internal import COpenVINO
internal import EngineAPI

extension ElementType {
    /// The type for one of OpenVINO's; nil for types that our tensors do not have (4-bit types and others).
    init?(_ type: ov_element_type_e) {
        switch type {
        case OV_BOOLEAN: self = .bool
        case U8: self = .uint8
        case U16: self = .uint16
        case U32: self = .uint32
        case U64: self = .uint64
        case I8: self = .int8
        case I16: self = .int16
        case I32: self = .int32
        case I64: self = .int64
        case F16: self = .float16
        case BF16: self = .bfloat16
        case F32: self = .float32
        case F64: self = .float64
        case STRING: self = .string
        default: return nil
        }
    }

    /// OpenVINO's constant for the type.
    var openVINO: ov_element_type_e {
        switch self {
        case .bool: OV_BOOLEAN
        case .uint8: U8
        case .uint16: U16
        case .uint32: U32
        case .uint64: U64
        case .int8: I8
        case .int16: I16
        case .int32: I32
        case .int64: I64
        case .float16: F16
        case .bfloat16: BF16
        case .float32: F32
        case .float64: F64
        case .string: STRING
        }
    }
}

extension Shape {
    /// Calls `body` with the shape in the form of the C API. Every axis must be fixed.
    func withOpenVINO<R>(_ body: (ov_shape_t) -> R) -> R {
        var dimensions = dimensions.map { Int64($0) }
        return dimensions.withUnsafeMutableBufferPointer { buffer in
            body(ov_shape_t(rank: Int64(buffer.count), dims: buffer.baseAddress))
        }
    }

    /// The extents of a shape of the C API; an axis that is not fixed is ``Shape/dynamic``.
    init(_ shape: ov_partial_shape_t) {
        guard shape.rank.min == shape.rank.max, shape.rank.max >= 0, let dims = shape.dims else {
            self.init([])
            return
        }
        self.init(
            (0..<Int(shape.rank.max)).map { index in
                let dimension = dims[index]
                return dimension.min == dimension.max ? Int(clamping: dimension.max) : Shape.dynamic
            })
    }

    /// The extents of a fixed shape of the C API.
    init(_ shape: ov_shape_t) {
        guard shape.rank > 0, let dims = shape.dims else {
            self.init([])
            return
        }
        self.init((0..<Int(clamping: shape.rank)).map { Int(clamping: dims[$0]) })
    }
}

extension TensorPort {
    /// Reads an input or output of a model.
    init(port: OpaquePointer, what: String) throws(EngineError) {
        var name: UnsafeMutablePointer<CChar>?
        // A port without a name is not an error: bundles find it by its position.
        let named = ov_port_get_any_name(port, &name) == OK
        defer { ov_free(name) }
        var type = DYNAMIC
        try checked("read the type of \(what)") { ov_port_get_element_type(port, &type) }
        guard let elementType = ElementType(type) else {
            throw EngineError(
                kind: .invalidModel, operation: "serve \(what)",
                detail: "its element type (number \(type.rawValue)) is not supported")
        }
        var shape = ov_partial_shape_t()
        try checked("read the shape of \(what)") { ov_port_get_partial_shape(port, &shape) }
        defer { ov_partial_shape_free(&shape) }
        let text = if named, let name { String(cString: name) } else { "" }
        self.init(name: text, elementType: elementType, shape: Shape(shape))
    }
}
