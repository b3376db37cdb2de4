package import Inference
package import JSON

/// Reads the JSON value of one input, as described by `model.json`.
package struct InputValueReader {
    let input: FeatureDescription
    /// The folder of pictures that are given by file name; nil if they are base64 text.
    var pictures: PictureFiles?

    package init(input: FeatureDescription, pictures: PictureFiles? = nil) {
        self.input = input
        self.pictures = pictures
    }

    package func read(_ scanner: inout JSONScanner) throws(JSONError) -> FeatureValue {
        switch input.kind {
        case .image: return try image(&scanner)
        case .string: return try bytes(&scanner)
        // No input is a depth map.
        case .array, .scalar, .depth: return try numbers(&scanner)
        case .text:
            // The feature is one string, not a tensor.
            if input.shape.dimensions == [1] { return .string(try scanner.string("input \"\(input.name)\"")) }
            return try strings(&scanner)
        case .dictionary: return try dictionary(&scanner)
        }
    }

    private func mistake(_ expected: String, _ found: String) -> JSONError {
        .value("input \"\(input.name)\": expected \(expected), found \(found)")
    }

    // MARK: Dictionaries

    /// Reads `{"key": number, ...}`.
    private func dictionary(_ scanner: inout JSONScanner) throws(JSONError) -> FeatureValue {
        let expected = "an object with numbers by \(input.hasIntegerKeys ? "integers, such as {\"7\": 1.5}" : "key")"
        guard try scanner.kind() == .object else { throw mistake(expected, try scanner.kind().rawValue) }
        var entries: [LabeledValue] = []
        var keys: Set<String> = []
        try scanner.object { (key, scanner) throws(JSONError) in
            if input.hasIntegerKeys, Int64(key) == nil { throw mistake(expected, "the key \"\(key.prefix(60))\"") }
            guard keys.insert(key).inserted else { throw mistake(expected, "the key \"\(key.prefix(60))\" twice") }
            guard try scanner.kind() == .number else {
                throw mistake(expected, "\(try scanner.kind().rawValue) for the key \"\(key.prefix(60))\"")
            }
            guard let number = try scanner.number().double(in: scanner.text) else {
                throw mistake("numbers that a 64-bit float can hold", "another for the key \"\(key.prefix(60))\"")
            }
            entries.append(LabeledValue(label: key, value: number))
        }
        return .dictionary(entries)
    }

    // MARK: Pictures

    private func image(_ scanner: inout JSONScanner) throws(JSONError) -> FeatureValue {
        if let pictures, try scanner.kind() == .string {
            let name = try scanner.string()
            switch pictures.read(name) {
            case .success(let bytes): return .image(EncodedImage(bytes))
            case .failure(let error): throw .value("input \"\(input.name)\": \(name.prefix(200)) \(error.reason)")
            }
        }
        return .image(try PictureValueReader(name: input.name).read(&scanner))
    }

    /// Reads `{"b64": "..."}`.
    private func encoded(_ scanner: inout JSONScanner, _ expected: String) throws(JSONError) -> [UInt8] {
        var bytes: [UInt8]?
        try scanner.object { (key, scanner) throws(JSONError) in
            guard key == "b64" else { throw mistake(expected, "the member \"\(key.prefix(60))\"") }
            try scanner.expect(.string, "input \"\(input.name)\": \"b64\"")
            bytes = try scanner.base64 { mistake(expected, $0) }
        }
        guard let bytes else { throw mistake(expected, "an empty object") }
        return bytes
    }

    // MARK: Raw bytes

    private func bytes(_ scanner: inout JSONScanner) throws(JSONError) -> FeatureValue {
        let expected = "a string, raw bytes as {\"b64\": \"...\"}, or numbers of shape \(input.shape)"
        let bytes: [UInt8]
        switch try scanner.kind() {
        case .object: bytes = try encoded(&scanner, expected)
        case .string: bytes = Array(try scanner.string().utf8)
        case .array, .number: return try numbers(&scanner)
        case let kind: throw mistake(expected, kind.rawValue)
        }
        let size = (input.shape.elementCount ?? 0) * input.elementType.byteCount
        guard bytes.count == size else {
            throw mistake("\(size) bytes (shape \(input.shape) of \(input.elementType.rawValue))", "\(bytes.count)")
        }
        return try tensor { () throws(InferenceError) -> BorrowedArray in
            try BorrowedArray(elementType: input.elementType, shape: input.shape, elements: bytes)
        }
    }

    // MARK: Strings

    /// Reads strings, flat or nested, like numbers.
    private func strings(_ scanner: inout JSONScanner) throws(JSONError) -> FeatureValue {
        let expected = "a string, or strings of shape \(input.shape)\(input.shape.isStatic ? "" : " (-1: any number)")"
        var elements: [String] = []
        let extents = try scanner.elements(name: input.name, "a string") { (scanner) throws(JSONError) in
            let kind = try scanner.kind()
            guard kind == .string else { throw mistake(expected, kind.rawValue) }
            guard elements.count < TensorReader.maximumStrings else {
                throw mistake("at most \(TensorReader.maximumStrings) strings", "more")
            }
            elements.append(try scanner.string())
        }
        let shape = try shape(of: extents, count: elements.count, of: "strings")
        return .strings(StringArray(shape: shape, elements: elements))
    }

    // MARK: Numbers

    private func numbers(_ scanner: inout JSONScanner) throws(JSONError) -> FeatureValue {
        // A value that is quantized later is a real number here.
        let type = input.isTransformed && input.kind != .string ? .float32 : input.elementType
        let reader = TensorReader(
            name: input.name, elementType: type, count: input.shape.elementCount, takesMissing: input.takesMissing)
        let (elements, extents, count) = try reader.read(&scanner)
        let shape = try shape(of: extents, count: count)
        return try tensor { () throws(InferenceError) -> BorrowedArray in try elements.tensor(type, shape: shape) }
    }

    private func tensor(_ make: () throws(InferenceError) -> BorrowedArray) throws(JSONError) -> FeatureValue {
        do throws(InferenceError) {
            return .borrowedArray(try make())
        } catch {
            throw mistake("shape \(input.shape) of \(input.elementType.rawValue)", error.message)
        }
    }

    /// The shape for some extents. Numbers may be flat, in row-major order, or nested as in the model's shape; leading
    /// extents of 1 are optional.
    private func shape(of extents: [Int], count: Int, of kind: String = "numbers") throws(JSONError) -> Shape {
        func trimmed(_ extents: [Int]) -> [Int] { Array(extents.drop { $0 == 1 }) }
        guard let expected = input.shape.elementCount else {
            return try openShape(of: extents, count: count, of: kind)
        }
        let isFlat = trimmed(extents).count <= 1
        guard count == expected else {
            let nesting = isFlat ? "" : " (nested as \(Shape(extents)))"
            throw mistake(
                "\(expected) \(expected == 1 ? String(kind.dropLast()) : kind) (shape \(input.shape))",
                "\(count)\(nesting)")
        }
        guard isFlat || trimmed(extents) == trimmed(input.shape.dimensions) else {
            throw mistake(
                "\(expected) \(kind), flat or nested as \(input.shape)", "\(kind) nested as \(Shape(extents))")
        }
        return input.shape
    }

    /// A shape with open axes. A flat list determines it if one axis is open. Otherwise the nesting does: axes of 1 may
    /// be omitted, in front or anywhere, and axes of 1 may be added at the end.
    private func openShape(of extents: [Int], count: Int, of kind: String) throws(JSONError) -> Shape {
        let expected = input.shape.dimensions
        let fixed = expected.filter { $0 != Shape.dynamic }
        if extents.count == 1, fixed.count == expected.count - 1, let step = Shape(fixed).elementCount, step > 0,
            count > 0, count % step == 0
        {
            return Shape(expected.map { $0 == Shape.dynamic ? count / step : $0 })
        }
        var found = extents
        while found.count > expected.count, found.last == 1 { found.removeLast() }
        let longer = expected.filter { $0 != 1 }
        if found.count == longer.count, found.count < expected.count,
            zip(longer, found).allSatisfy({ $0 == Shape.dynamic || $0 == $1 })
        {
            var rest = found[...]
            return Shape(expected.map { $0 == 1 ? 1 : rest.popFirst() ?? 1 })
        }
        while found.count < expected.count,
            expected[expected.count - found.count - 1] == 1
                || expected.count - found.count == 1 && expected[0] == Shape.dynamic
        {
            found.insert(1, at: 0)
        }
        guard found.count == expected.count, zip(expected, found).allSatisfy({ $0 == Shape.dynamic || $0 == $1 }) else {
            throw mistake("\(kind) nested as \(input.shape) (-1: any number)", "\(kind) nested as \(Shape(extents))")
        }
        return Shape(found)
    }
}
