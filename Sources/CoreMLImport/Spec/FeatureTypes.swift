/// An input or output (Model.proto: FeatureDescription; FeatureTypes.proto).
package struct FeatureSpecification: Sendable {
    package var name: String
    package var shortDescription: String
    package var type: FeatureType
    package var isOptional: Bool

    package init(name: String, shortDescription: String = "", type: FeatureType, isOptional: Bool = false) {
        self.name = name
        self.shortDescription = shortDescription
        self.type = type
        self.isOptional = isOptional
    }

    init(_ message: Message) throws(Problem) {
        name = try message.string(1)
        shortDescription = try message.string(2)
        let type = try message.message(3) ?? .empty
        self.type = try FeatureType(type)
        isOptional = try type.bool(1000)
    }

    static func list(_ fields: [Field], _ what: String) throws(Problem) -> [FeatureSpecification] {
        var list: [FeatureSpecification] = []
        for (index, field) in fields.enumerated() {
            list.append(
                try located("\(what)[\(index)]") { () throws(Problem) in try FeatureSpecification(field.message()) })
        }
        return list
    }
}

/// FeatureTypes.proto: FeatureType.
package enum FeatureType: Sendable, Equatable {
    case int64
    case double
    case string
    case image(ImageFeature)
    case multiArray(ArrayFeature)
    case dictionary(key: KeyType)
    case sequence
    case state(ArrayFeature)
    /// The file does not set the type.
    case unset

    package enum KeyType: Sendable, Equatable {
        case int64
        case string
    }

    init(_ message: Message) throws(Problem) {
        self = .unset
        for field in message.fields {
            switch field.number {
            case 1: self = .int64
            case 2: self = .double
            case 3: self = .string
            case 4: self = .image(try ImageFeature(field.message()))
            case 5: self = .multiArray(try ArrayFeature(field.message()))
            case 6: self = .dictionary(key: try field.message().has(1) ? .int64 : .string)
            case 7: self = .sequence
            case 8: self = .state(try ArrayFeature(field.message().message(1) ?? .empty))
            default: break
            }
        }
    }

    /// The name of the type in messages.
    package var name: String {
        switch self {
        case .int64: "int64"
        case .double: "double"
        case .string: "string"
        case .image: "image"
        case .multiArray: "multi-array"
        case .dictionary: "dictionary"
        case .sequence: "sequence"
        case .state: "state"
        case .unset: "unset type"
        }
    }
}

/// The range of an extent. `upper` -1: no limit.
package struct ExtentRange: Sendable, Equatable {
    package var lower: Int
    package var upper: Int

    package init(lower: Int, upper: Int) {
        self.lower = lower
        self.upper = upper
    }

    init(_ message: Message?) throws(Problem) {
        lower = try message?.integer(1) ?? 0
        upper = try message?.integer(2) ?? 0
    }

    /// True if there is no upper limit: 0 is the value of a field that the file does not set.
    var isUnlimited: Bool { upper <= 0 }
    var isReversed: Bool { !isUnlimited && upper < lower }
    func contains(_ extent: Int) -> Bool { extent >= lower && (isUnlimited || extent <= upper) }
}

/// The type of an image input or output, in pixels (FeatureTypes.proto: ImageFeatureType).
package struct ImageFeature: Sendable, Equatable {
    package var width: Int
    package var height: Int
    package var colorSpace: ColorSpace
    package var flexibility: Flexibility = .none

    package enum ColorSpace: Int, Sendable {
        case invalid = 0
        case grayscale = 10
        case rgb = 20
        case bgr = 30
        /// Gray, as 16-bit floats; not limited to 0...255.
        case grayscaleFloat16 = 40

        package var channels: Int { self == .rgb || self == .bgr ? 3 : 1 }
    }

    package enum Flexibility: Sendable, Equatable {
        case none
        case sizes([Size])
        case range(width: ExtentRange, height: ExtentRange)
    }

    package struct Size: Sendable, Equatable {
        package var width: Int
        package var height: Int
    }

    package init(width: Int, height: Int, colorSpace: ColorSpace) {
        self.width = width
        self.height = height
        self.colorSpace = colorSpace
    }

    init(_ message: Message) throws(Problem) {
        width = try message.integer(1)
        height = try message.integer(2)
        let space = try message.integer(3)
        guard let known = ColorSpace(rawValue: space) else { throw Problem("unknown color space \(space)") }
        colorSpace = known
        if let sizes = try message.message(21) {
            var list: [Size] = []
            for size in try sizes.messages(1) {
                list.append(Size(width: try size.integer(1), height: try size.integer(2)))
            }
            flexibility = .sizes(list)
        } else if let range = try message.message(31) {
            flexibility = .range(
                width: try ExtentRange(range.message(1)), height: try ExtentRange(range.message(2)))
        }
        try checkSizes()
    }

    /// Sets the size that the file leaves out: the first of the list, or the lower bounds. Throws for a range with
    /// reversed bounds, and for a default that the file itself does not allow.
    private mutating func checkSizes() throws(Problem) {
        switch flexibility {
        case .none: return
        case .sizes(let sizes):
            guard let first = sizes.first else { return }
            if width == 0, height == 0 { (width, height) = (first.width, first.height) }
            guard sizes.contains(where: { $0.width == width && $0.height == height }) else {
                let list = sizes.prefix(20).map { "\($0.width) x \($0.height)" }.joined(separator: ", ")
                throw Problem("the default size \(width) x \(height) is not one of its sizes: \(list)")
            }
        case .range(let across, let down):
            for (name, range) in [("width", across), ("height", down)] where range.isReversed {
                throw Problem("the range of the \(name) ends at \(range.upper), below its lower bound \(range.lower)")
            }
            if width == 0, height == 0 { (width, height) = (max(1, across.lower), max(1, down.lower)) }
            for (name, side, range) in [("width", width, across), ("height", height, down)]
            where !range.contains(side) {
                let end = range.isUnlimited ? "without an upper bound" : "to \(range.upper)"
                throw Problem("the default \(name) \(side) is outside its range, \(range.lower) \(end)")
            }
        }
    }

    /// The shape of its tensor: the default one, or with open extents.
    func shape(opens: Bool) -> [Int?] { opens ? extents : [1, colorSpace.channels, height, width] }

    /// The extents of its tensor, `[1, channels, height, width]`; nil for a side that requests may choose.
    package var extents: [Int?] {
        let isFree: (width: Bool, height: Bool) =
            switch flexibility {
            case .none: (false, false)
            case .sizes(let sizes):
                (sizes.contains { $0.width != width }, sizes.contains { $0.height != height })
            case .range(let across, let down): (across.lower != across.upper, down.lower != down.upper)
            }
        return [1, colorSpace.channels, isFree.height ? nil : height, isFree.width ? nil : width]
    }
}

/// FeatureTypes.proto: ArrayFeatureType.
package struct ArrayFeature: Sendable, Equatable {
    /// May be empty if the file does not set it. Extents of valid files are positive, which is not checked here.
    package var shape: [Int]
    package var dataType: DataType
    package var flexibility: Flexibility = .none
    /// The value of an optional input that is omitted.
    package var defaultValue: Double?

    package enum DataType: Int, Sendable {
        case invalid = 0
        case float16 = 65552
        case float32 = 65568
        case double = 65600
        case int8 = 131080
        case int32 = 131104

        package var isInteger: Bool { self == .int8 || self == .int32 }
    }

    package enum Flexibility: Sendable, Equatable {
        case none
        case shapes([[Int]])
        /// One range for each axis.
        case ranges([ExtentRange])
    }

    package init(shape: [Int], dataType: DataType) {
        self.shape = shape
        self.dataType = dataType
    }

    init(_ message: Message) throws(Problem) {
        shape = try message.integers(1)
        let type = try message.integer(2)
        guard let known = DataType(rawValue: type) else { throw Problem("unknown array data type \(type)") }
        dataType = known
        if let shapes = try message.message(21) {
            var list: [[Int]] = []
            for shape in try shapes.messages(1) { list.append(try shape.integers(1)) }
            flexibility = .shapes(list)
        } else if let range = try message.message(31) {
            var list: [ExtentRange] = []
            for size in try range.messages(1) { list.append(try ExtentRange(size)) }
            flexibility = .ranges(list)
        }
        if message.has(41) { defaultValue = Double(try message.integer(41)) }
        if message.has(51) { defaultValue = Double(try message.float(51)) }
        if message.has(61) { defaultValue = try message.double(61) }
    }

    /// The extents of an input; `nil` for those that requests may choose. Files may omit the shape of a flexible input.
    package var extents: [Int?] {
        switch flexibility {
        case .none: return shape
        case .shapes(let shapes):
            let known = shape.isEmpty ? shapes.first ?? [] : shape
            return known.indices.map { axis in
                shapes.allSatisfy { $0.count == known.count && $0[axis] == known[axis] } ? known[axis] : nil
            }
        case .ranges(let ranges):
            return ranges.enumerated().map { axis, range in
                // coremltools writes this range for programs without an explicit batch.
                let isUnspoken = axis == 0 && ranges.count > 1 && range.lower == 1 && range.upper == 2
                if isUnspoken, shape.first == 1 { return 1 }
                return range.lower == range.upper ? range.lower : nil
            }
        }
    }
}

extension FeatureSpecification {
    /// True for an array or a picture with open extents that has a default shape.
    var hasDefaultShape: Bool {
        switch type {
        case .multiArray(let array): array.flexibility != .none && !array.shape.isEmpty
        case .image(let image): image.extents.contains(nil)
        default: false
        }
    }
}
