/// The element type of values of an ML Program (MIL.proto: DataType).
package enum MILDataType: Int, Sendable, CaseIterable {
    case bool = 1
    case string = 2
    case float16 = 10
    case float32 = 11
    case float64 = 12
    case bfloat16 = 13
    case int8 = 21
    case int16 = 22
    case int32 = 23
    case int64 = 24
    case int4 = 25
    case uint8 = 31
    case uint16 = 32
    case uint32 = 33
    case uint64 = 34
    case uint4 = 35
    case uint2 = 36
    case uint1 = 37
    case uint6 = 38
    case uint3 = 39

    /// The size of one element in bits; 0 for strings.
    package var bits: Int {
        switch self {
        case .string: 0
        case .uint1: 1
        case .uint2: 2
        case .uint3: 3
        case .int4, .uint4: 4
        case .uint6: 6
        case .bool, .int8, .uint8: 8
        case .float16, .bfloat16, .int16, .uint16: 16
        case .float32, .int32, .uint32: 32
        case .float64, .int64, .uint64: 64
        }
    }

    package var isFloat: Bool {
        switch self {
        case .float16, .float32, .float64, .bfloat16: true
        default: false
        }
    }

    package var isSigned: Bool {
        switch self {
        case .int4, .int8, .int16, .int32, .int64: true
        default: false
        }
    }

    /// The size of `count` packed elements in bytes; `nil` if it exceeds 2^62.
    package func byteCount(_ count: Int) -> Int? {
        checkedProduct(count, bits).map { $0 / 8 + ($0 % 8 == 0 ? 0 : 1) }
    }
}

/// The type of a value (MIL.proto: ValueType).
package enum MILType: Sendable {
    case tensor(MILTensorType)
    case list(of: MILDataType)
    case dictionary
    case tuple
    case state
    case unset

    init(_ message: Message) throws(Problem) {
        self = .unset
        for field in message.fields {
            switch field.number {
            case 1: self = .tensor(try MILTensorType(field.message()))
            case 2:
                let element = try field.message().message(1)?.message(1)
                self = .list(
                    of: try element.map { message throws(Problem) in try MILTensorType(message).element } ?? .string)
            case 3: self = .tuple
            case 4: self = .dictionary
            case 5: self = .state
            default: break
            }
        }
    }

    package var tensor: MILTensorType? {
        if case .tensor(let type) = self { type } else { nil }
    }
}

/// The type of a tensor (MIL.proto: TensorType).
package struct MILTensorType: Sendable {
    package var element: MILDataType
    /// `nil` extents are known only at run time; `nil` altogether if even the rank is unknown.
    package var shape: [Int?]?

    private static let maximumRank = 8

    package init(element: MILDataType, shape: [Int?]?) {
        self.element = element
        self.shape = shape
    }

    init(_ message: Message) throws(Problem) {
        let type = try message.integer(1)
        guard let known = MILDataType(rawValue: type) else { throw Problem("unknown data type \(type)") }
        element = known
        guard try message.integer(2) >= 0 else {
            shape = nil
            return
        }
        var shape: [Int?] = []
        for dimension in try message.messages(3) {
            if let unknown = try dimension.message(2) {
                if try unknown.bool(1) {
                    self.shape = nil
                    return
                }
                shape.append(nil)
            } else {
                let size = try dimension.message(1)?.integer(1) ?? 0
                guard size >= 0, size <= Int(Int32.max) else { throw Problem("unsupported extent \(size)") }
                shape.append(size)
            }
        }
        guard shape.count <= Self.maximumRank else {
            throw Problem("a tensor of \(shape.count) axes: the limit is \(Self.maximumRank)")
        }
        self.shape = shape
    }

    /// The shape if all extents are known, else nil.
    package var staticShape: [Int]? {
        guard let shape else { return nil }
        let known = shape.compactMap { $0 }
        return known.count == shape.count ? known : nil
    }
}

/// A name with a type: an input of a function, or an output of an operation (MIL.proto: NamedValueType).
package struct MILNamedType: Sendable {
    package var name: String
    package var type: MILType

    init(_ message: Message) throws(Problem) {
        name = try message.string(1)
        type = try located("\"\(name)\"") { () throws(Problem) in try MILType(message.message(2) ?? .empty) }
    }
}
