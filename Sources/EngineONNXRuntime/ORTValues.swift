internal import CONNXRuntime
internal import EngineAPI

/// Values other than tensors of numbers: strings, maps, and sequences.
extension ORTLibrary {
    /// Creates a tensor of strings, which may contain any bytes, including zeros.
    func value(of strings: StringArray) throws(EngineError) -> ORTHandle {
        let extents = strings.shape.dimensions.map { Int64($0) }, allocator = try prepared().allocator
        let pointer = try make("create a tensor of strings") {
            ort_create_tensor(api, allocator, extents, extents.count, ElementType.string.ort, &$0)
        }
        let value = ORTHandle(pointer) { [api] in ort_release_value(api, $0) }
        for (index, text) in strings.elements.enumerated() {
            var text = text
            let status = text.withUTF8 { bytes -> OpaquePointer? in
                var buffer: UnsafeMutablePointer<CChar>?
                let status = ort_string_buffer(api, pointer, index, bytes.count, &buffer)
                if status == nil, let buffer, let base = bytes.baseAddress {
                    UnsafeMutableRawPointer(buffer).copyMemory(from: base, byteCount: bytes.count)
                }
                return status
            }
            try check("write a string", status)
        }
        return value
    }

    /// The strings of a tensor.
    private func strings(of value: OpaquePointer, shape: Shape) throws(EngineError) -> StringArray {
        let count = shape.elementCount ?? 0
        var size = 0
        try check("read strings", ort_string_bytes(api, value, &size))
        var bytes = [UInt8](repeating: 0, count: size)
        var offsets = [Int](repeating: 0, count: count)
        if count > 0 { try check("read strings", ort_get_strings(api, value, &bytes, size, &offsets, count)) }
        var elements: [String] = []
        elements.reserveCapacity(count)
        for (index, start) in offsets.enumerated() {
            let end = index + 1 < count ? offsets[index + 1] : size
            guard start <= end, end <= size else { break }
            elements.append(String(decoding: bytes[start..<end], as: UTF8.self))
        }
        return StringArray(shape: shape, elements: elements)
    }

    /// Calls `body` with the type, the shape and the memory of a tensor of numbers.
    func withTensor<R>(
        _ value: OpaquePointer, _ body: (ElementType, Shape, UnsafeRawBufferPointer) -> R
    ) throws(EngineError) -> R {
        let (type, shape) = try tensor(of: value)
        guard let type, type.byteCount > 0, let count = shape.elementCount,
            case let (size, overflow) = count.multipliedReportingOverflow(by: type.byteCount), !overflow
        else {
            throw EngineError(kind: .failure, operation: "read a tensor", detail: "its type is not supported")
        }
        var data: UnsafeMutableRawPointer?
        try check("read a tensor", ort_tensor_data(api, value, &data))
        return body(type, shape, UnsafeRawBufferPointer(start: data, count: data == nil ? 0 : size))
    }

    /// The numbers in a sequence of maps with the same keys: a row for each map, in the sorted order of the keys.
    func rows(of sequence: OpaquePointer, classes: Int) throws(EngineError) -> [Float] {
        var rows = 0
        try check("read a sequence", ort_value_count(api, sequence, &rows))
        var values: [Float] = []
        for row in 0..<rows {
            let found = try withElement(row, of: sequence) { (map) throws(EngineError) in
                try withElement(1, of: map) { (numbers) throws(EngineError) in
                    try withTensor(numbers) { type, _, raw -> Int in
                        guard type == .float32 else { return -1 }
                        ElementConversion.read(raw, as: type) { values.append(Float($1)) }
                        return raw.count / 4
                    }
                }
            }
            guard found == classes else {
                throw EngineError(
                    kind: .failure, operation: "read the probabilities",
                    detail: "there are \(found) for \(classes) labels")
            }
        }
        return values
    }

    /// Any value in the form that clients receive.
    func feature(_ value: OpaquePointer) throws(EngineError) -> FeatureValue {
        var kind: Int32 = 0, count = 0
        try check("read a value", ort_value_kind(api, value, &kind))
        switch kind {
        case 1:
            let (type, shape) = try tensor(of: value)
            if type == .string { return .strings(try strings(of: value, shape: shape)) }
            let array = try withTensor(value) { type, shape, raw in
                try? MultiArray(elementType: type, shape: shape, bytes: [UInt8](raw))
            }
            if let array { return .multiArray(array) }
        case 2:
            try check("read a sequence", ort_value_count(api, value, &count))
            var elements: [FeatureValue] = []
            for index in 0..<count {
                elements.append(
                    try withElement(index, of: value) { (element) throws(EngineError) in try feature(element) })
            }
            return .sequence(elements)
        case 3: return .dictionary(try dictionary(value))
        default: break
        }
        throw EngineError(
            kind: .failure, operation: "read a value", detail: "it is of a kind that is not supported (\(kind))")
    }

    /// A map's keys as text, with its numbers.
    private func dictionary(_ map: OpaquePointer) throws(EngineError) -> [LabeledValue] {
        let keys: [String]
        switch try withElement(0, of: map, { (element) throws(EngineError) in try feature(element) }) {
        case .strings(let texts): keys = texts.elements
        case .multiArray(let numbers):
            keys = numbers.bytes.withUnsafeBytes { raw in
                (0..<numbers.count).map { index in
                    numbers.elementType == .int64
                        ? String(raw.loadUnaligned(fromByteOffset: 8 * index, as: Int64.self))
                        : String(Int64(exactly: numbers.doubles[index]) ?? 0)
                }
            }
        default: keys = []
        }
        var numbers: [Double] = []
        try withElement(1, of: map) { (element) throws(EngineError) in
            try withTensor(element) { type, _, raw in
                ElementConversion.read(raw, as: type) { numbers.append($1) }
            }
        }
        return zip(keys, numbers).map { LabeledValue(label: $0, value: $1) }
    }

    /// Calls `body` with an element of a sequence, or with the keys (0) or the numbers (1) of a map, which are valid
    /// only during the call.
    private func withElement<R>(
        _ index: Int, of value: OpaquePointer, _ body: (OpaquePointer) throws(EngineError) -> R
    ) throws(EngineError) -> R {
        let allocator = try prepared().allocator
        let element = try make("read a value") { ort_get_value(api, value, Int32(clamping: index), allocator, &$0) }
        defer { ort_release_value(api, element) }
        return try body(element)
    }
}
