internal import Inference
internal import JSON
internal import WireFormats

/// Reads the values of one input of a `:predict` request: of one instance, or of a whole column.
///
/// A model with an input that begins with an axis of 1 takes instances one by one, each without that axis, whether its
/// file opens the axis or not. Any other input takes all instances together, as one tensor.
struct InstanceReader {
    let input: FeatureDescription
    /// The maximum number of instances.
    let maximum: Int

    /// The extents of one instance; nil for an input that takes all instances together.
    private var extents: [Int]? {
        let extents = input.shape.dimensions
        if takesElements || extents.isEmpty { return Array(extents.dropFirst()) }
        return extents.first == 1 ? Array(extents.dropFirst()) : nil
    }

    /// True if each instance is a prediction.
    var isSplit: Bool { extents != nil }

    /// True if a value may be text or an encoded picture.
    private var takesElements: Bool { input.kind == .text || input.kind == .image }

    private func mistake(_ expected: String, _ found: String) -> JSONError {
        .value("input \"\(input.name)\": expected \(expected), found \(found)")
    }

    // MARK: One instance

    /// Reads the value of one instance.
    /// - Returns: the value, and the number of arrays around its elements, which must be the same in every instance.
    func value(_ scanner: inout JSONScanner) throws(JSONError) -> (value: FeatureValue, rank: Int) {
        let (found, rank) = try values(&scanner, isColumn: false)
        guard let value = found.first else { throw mistake("one value", "none") }
        return (value, rank)
    }

    // MARK: A column

    /// Reads the values of all instances, one each; or one value for all, for an input that takes them together.
    func column(_ scanner: inout JSONScanner) throws(JSONError) -> [FeatureValue] {
        try values(&scanner, isColumn: true).values
    }

    private func values(
        _ scanner: inout JSONScanner, isColumn: Bool
    ) throws(JSONError) -> (values: [FeatureValue], rank: Int) {
        if input.kind == .dictionary {
            throw .value("input \"\(input.name)\": is a dictionary, not a tensor: POST it to /v1/models/NAME/predict")
        }
        if hasElements(scanner) {
            // TensorFlow's strings may have any shape; only their number counts here.
            var found: [FeatureValue] = []
            let maximum = isColumn ? maximum : 1
            let nesting = try scanner.elements(name: input.name, "a value") { (scanner) throws(JSONError) in
                guard found.count < maximum else {
                    throw mistake(maximum == 1 ? "one value" : "at most \(maximum) values (max_batch)", "more")
                }
                found.append(try element(&scanner))
            }
            guard !found.isEmpty else { throw mistake("a value", "an empty array") }
            return (found, nesting.count)
        }
        return try numbers(&scanner, isColumn: isColumn)
    }

    // MARK: Pictures, strings, raw bytes

    /// True if the value begins, within its arrays, with a string or an object.
    private func hasElements(_ scanner: JSONScanner) -> Bool {
        var ahead = scanner
        while ahead.take(UInt8(ascii: "[")) {}
        ahead.skipSpace()
        return ahead.byte == UInt8(ascii: "\"") || ahead.byte == UInt8(ascii: "{")
    }

    private func element(_ scanner: inout JSONScanner) throws(JSONError) -> FeatureValue {
        switch (input.kind, try scanner.kind()) {
        // JSON's strings cannot hold a picture's bytes, so a string is base64 text.
        case (.image, _): return .image(try PictureValueReader(name: input.name).read(&scanner))
        case (.text, .string): return .string(try scanner.string())
        case (.text, .object):
            guard let text = String(validating: try base64(&scanner), as: UTF8.self) else {
                throw mistake("a UTF-8 string", "other bytes")
            }
            return .string(text)
        case (.string, .object): return try raw(try base64(&scanner))
        case (.string, .string): return try raw(Array(try scanner.string().utf8))
        case (_, let kind):
            throw mistake(input.kind == .text ? "a string" : "numbers", kind.rawValue)
        }
    }

    /// Reads `{"b64": "..."}`.
    private func base64(_ scanner: inout JSONScanner) throws(JSONError) -> [UInt8] {
        var bytes: [UInt8]?
        try scanner.object { (key, scanner) throws(JSONError) in
            guard key == "b64" else { throw mistake("{\"b64\": \"...\"}", "the member \"\(key.prefix(60))\"") }
            try scanner.expect(.string, "input \"\(input.name)\": \"b64\"")
            bytes = try scanner.base64 { mistake("base64 text in \"b64\"", $0) }
        }
        guard let bytes else { throw mistake("{\"b64\": \"...\"}", "an empty object") }
        return bytes
    }

    /// A tensor by its bytes, as declared by bundles (`type: "string"`).
    private func raw(_ bytes: [UInt8]) throws(JSONError) -> FeatureValue {
        let size = (input.shape.elementCount ?? 0).multipliedReportingOverflow(by: input.elementType.byteCount)
        guard !size.overflow, bytes.count == size.partialValue else {
            throw mistake(
                "\(size.partialValue) bytes (shape \(input.shape) of \(input.elementType.rawValue))", "\(bytes.count)")
        }
        return try array { () throws(InferenceError) in
            try BorrowedArray(elementType: input.elementType, shape: input.shape, elements: bytes)
        }
    }

    // MARK: Numbers

    private func numbers(
        _ scanner: inout JSONScanner, isColumn: Bool
    ) throws(JSONError) -> (values: [FeatureValue], rank: Int) {
        guard input.kind != .text else { throw mistake("a string", "another value") }
        let size = extents.flatMap { Shape($0).elementCount }
        let count =
            isColumn ? size.flatMap { $0.multipliedReportingOverflow(by: maximum).overflow ? nil : $0 * maximum } : size
        let reader = TensorReader(
            name: input.name, elementType: input.elementType,
            count: extents == nil ? input.shape.elementCount : count, takesMissing: input.takesMissing,
            takesNonFinite: true)
        let (elements, found, total) = try reader.read(&scanner)
        let items = try shapes(of: found, count: total, isColumn: isColumn)
        let whole = try tensor(elements, Shape([items.count] + items.extents))
        guard extents != nil, items.count > 1 else {
            let shape = Shape(extents == nil ? found : leading + items.extents)
            return ([try array { () throws(InferenceError) in try whole.part(0, of: 1, shape: shape) }], found.count)
        }
        var values: [FeatureValue] = []
        for index in 0..<items.count {
            values.append(
                try array { () throws(InferenceError) in
                    try whole.part(index, of: items.count, shape: Shape(leading + items.extents))
                })
        }
        return (values, found.count)
    }

    private func tensor(_ elements: TensorReader.Elements, _ shape: Shape) throws(JSONError) -> BorrowedArray {
        do throws(InferenceError) {
            return try elements.tensor(input.elementType, shape: shape)
        } catch {
            throw mistake("numbers of shape \(input.shape)", error.message)
        }
    }

    /// The axis that instances omit; empty if the model's input is a single number without axes.
    private var leading: [Int] { input.shape.dimensions.isEmpty ? [] : [1] }

    /// The number of instances in numbers with this nesting, and the extents of each instance.
    private func shapes(
        of found: [Int], count: Int, isColumn: Bool
    ) throws(JSONError) -> (count: Int, extents: [Int]) {
        guard let extents else {
            // A row of such an input is one of its elements; the reader of the request has joined the rows.
            try InferTensor.check(Shape(found), for: input)
            return (found.first ?? 1, Array(found.dropFirst()))
        }
        let isNumber = Shape(extents).elementCount == 1
        if isColumn {
            if isNumber, found.allSatisfy({ $0 == 1 }) { return (1, extents) }
            if let number = found.first, (1...maximum).contains(number),
                fits(Array(found.dropFirst()), extents) || isNumber && count == number
            {
                return (number, isNumber ? extents : Array(found.dropFirst()))
            }
            guard found.first ?? 1 <= maximum else {
                throw mistake("at most \(maximum) instances (max_batch)", "\(found.first ?? 1)")
            }
            throw mistake(
                "numbers nested as \(Self.text([Shape.dynamic] + extents)) (-1: instances)", "\(Self.text(found))")
        }
        if isNumber, count == 1 { return (1, extents) }
        guard fits(found, extents) else {
            throw mistake("an instance of numbers nested as \(Self.text(extents))", Self.text(found))
        }
        return (1, found)
    }

    private func fits(_ found: [Int], _ extents: [Int]) -> Bool {
        found.count == extents.count
            && zip(extents, found).allSatisfy { $0 == $1 || $0 == Shape.dynamic && $1 > 0 }
    }

    private static func text(_ extents: [Int]) -> String { extents.isEmpty ? "one number" : "\(Shape(extents))" }

    private func array(_ make: () throws(InferenceError) -> BorrowedArray) throws(JSONError) -> FeatureValue {
        do throws(InferenceError) {
            return .borrowedArray(try make())
        } catch {
            throw mistake("shape \(input.shape) of \(input.elementType.rawValue)", error.message)
        }
    }
}

extension BorrowedArray {
    /// One of several equal parts, along the outermost axis; the memory is not copied.
    func part(_ index: Int, of count: Int, shape: Shape) throws(InferenceError) -> BorrowedArray {
        let size = byteCount / max(1, count), whole = self
        return try BorrowedArray(elementType: elementType, shape: shape, byteCount: size) { use in
            whole.withUnsafeBytes { use(UnsafeRawBufferPointer(rebasing: $0[index * size..<(index + 1) * size])) }
        }
    }

    /// Joins several arrays of one shape, along a new outermost axis.
    static func joining(_ parts: [BorrowedArray]) throws(InferenceError) -> BorrowedArray? {
        guard let first = parts.first else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(first.byteCount * parts.count)
        for part in parts { part.withUnsafeBytes { bytes.append(contentsOf: $0) } }
        return try BorrowedArray(
            elementType: first.elementType, shape: Shape([parts.count] + first.shape.dimensions), elements: bytes)
    }
}
