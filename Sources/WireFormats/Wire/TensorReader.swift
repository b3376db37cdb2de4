package import Inference
package import JSON

/// Reads JSON numbers straight into the elements of a tensor, in the engine's type, without an intermediate copy.
package struct TensorReader {
    /// The input's name, for errors.
    let name: String
    let elementType: ElementType
    /// The number of elements of the tensor; nil if its shape is open.
    let count: Int?
    /// True if `null` is a missing value, NaN; for floats.
    let takesMissing: Bool
    /// True if floats may be `NaN`, `Infinity` and `-Infinity`, which are not JSON.
    let takesNonFinite: Bool

    package init(
        name: String, elementType: ElementType, count: Int?, takesMissing: Bool = false, takesNonFinite: Bool = false
    ) {
        self.name = name
        self.takesNonFinite = takesNonFinite
        self.takesMissing = takesMissing
        self.elementType = elementType
        self.count = count
    }

    /// Reads the numbers, with the extents of their nesting (empty for a single number).
    package func read(_ scanner: inout JSONScanner) throws(JSONError) -> (
        array: Elements, extents: [Int], count: Int
    ) {
        switch elementType {
        case .float32:
            return try numbers(&scanner, "a number that a 32-bit float can hold", { $0.float(in: $1) }) {
                (scanner, text) throws(JSONError) -> Float? in
                if try takesMissing(&scanner) { return .nan }
                if takesNonFinite, let value = scanner.takesNonFinite() { return Float(value) }
                return try scanner.number().float(in: text)
            }
        case .float64:
            return try numbers(&scanner, "a number that a 64-bit float can hold", { $0.double(in: $1) }) {
                (scanner, text) throws(JSONError) -> Double? in
                if try takesMissing(&scanner) { return .nan }
                if takesNonFinite, let value = scanner.takesNonFinite() { return value }
                return try scanner.number().double(in: text)
            }
        case .float16:
            return try numbers(&scanner, "a number that a 16-bit float can hold", { _, _ in nil }) {
                (scanner, text) throws(JSONError) -> UInt16? in
                if try takesMissing(&scanner) { return 0x7E00 }
                if takesNonFinite, let value = scanner.takesNonFinite() {
                    return ElementConversion.half(from: Float(value))
                }
                return try scanner.number().float(in: text).map { ElementConversion.half(from: $0) }
                    .flatMap { $0 & 0x7FFF == 0x7C00 ? nil : $0 }
            }
        case .bfloat16:
            return try numbers(&scanner, "a number that a 16-bit brain float can hold", { _, _ in nil }) {
                (scanner, text) throws(JSONError) -> UInt16? in
                if try takesMissing(&scanner) { return 0x7FC0 }
                if takesNonFinite, let value = scanner.takesNonFinite() {
                    return ElementConversion.brain(from: Float(value))
                }
                return try scanner.number().float(in: text).map { ElementConversion.brain(from: $0) }
                    .flatMap { $0 & 0x7FFF == 0x7F80 ? nil : $0 }
            }
        case .uint8: return try integers(&scanner, UInt8.self)
        case .uint16: return try integers(&scanner, UInt16.self)
        case .uint32: return try integers(&scanner, UInt32.self)
        case .uint64: return try integers(&scanner, UInt64.self)
        case .int8: return try integers(&scanner, Int8.self)
        case .int16: return try integers(&scanner, Int16.self)
        case .int32: return try integers(&scanner, Int32.self)
        case .int64: return try integers(&scanner, Int64.self)
        case .bool:
            return try numbers(&scanner, "true or false (or 1 or 0)", { _, _ in nil }) {
                (scanner, text) throws(JSONError) -> UInt8? in
                if scanner.byte == UInt8(ascii: "t") || scanner.byte == UInt8(ascii: "f") {
                    return try scanner.bool() ? 1 : 0
                }
                return try scanner.number().integer(UInt8.self, in: text).flatMap { $0 <= 1 ? $0 : nil }
            }
        case .string:
            throw .value("input \"\(name)\": string tensors are not supported")
        }
    }

    /// Takes `null`, if it means a missing value here and comes next. Other words, such as `NaN`, are left to functions
    /// that report them by name.
    private func takesMissing(_ scanner: inout JSONScanner) throws(JSONError) -> Bool {
        guard takesMissing, scanner.byte == UInt8(ascii: "n"),
            scanner.text[scanner.position...].starts(with: "null".utf8)
        else { return false }
        return try scanner.takesNull()
    }

    private static let countedExcess = 1024

    /// The maximum number of strings in one input: a body of 20 MB could hold millions of empty ones.
    package static let maximumStrings = 100_000

    /// The elements of a tensor of any type.
    package struct Elements: Sendable {
        fileprivate let make: @Sendable (ElementType, Shape) throws(InferenceError) -> BorrowedArray

        /// The tensor of these elements, in a shape with the same number of elements.
        package func tensor(_ type: ElementType, shape: Shape) throws(InferenceError) -> BorrowedArray {
            try make(type, shape)
        }
    }

    private func integers<T: FixedWidthInteger & BitwiseCopyable & Sendable>(
        _ scanner: inout JSONScanner, _: T.Type
    ) throws(JSONError) -> (array: Elements, extents: [Int], count: Int) {
        try numbers(&scanner, "an integer from \(T.min) to \(T.max)", { $0.integer(T.self, in: $1) }) {
            (scanner, text) throws(JSONError) -> T? in try scanner.number().integer(T.self, in: text)
        }
    }

    @inline(__always)
    private func numbers<T: BitwiseCopyable & Sendable>(
        _ scanner: inout JSONScanner, _ fitting: String, _ usual: (JSONNumber, UnsafeRawBufferPointer) -> T?,
        _ convert: (inout JSONScanner, UnsafeRawBufferPointer) throws(JSONError) -> T?
    ) throws(JSONError) -> (array: Elements, extents: [Int], count: Int) {
        let text = scanner.text
        // A number takes at least two bytes: a short text must not reserve memory for many numbers.
        let maximum = min(count ?? .max, (text.count - scanner.position) / 2 + 1)
        let found = try scanner.numbers(
            // Count a few too many for the error message; the text after them cannot fit either.
            maximum: maximum,
            end: count.map { $0 <= .max - Self.countedExcess ? $0 + Self.countedExcess : .max } ?? .max,
            name: name, fitting: fitting, takesBools: elementType == .bool, takesNull: takesMissing,
            usual: { usual($0, text) }
        ) {
            (scanner: inout JSONScanner) throws(JSONError) -> T? in try convert(&scanner, text)
        }
        let elements = found.elements
        return (
            Elements { (type, shape) throws(InferenceError) -> BorrowedArray in
                try BorrowedArray(elementType: type, shape: shape, elements: elements)
            }, found.shape, found.count
        )
    }
}
