internal import HTTPServer
internal import Inference
internal import JSON
internal import Tasks
internal import WireFormats

/// Reads the content of one input of an `infer` request.
struct InferTensor {
    let description: FeatureDescription
    let shape: Shape
    /// The maximum number of pictures (`max_batch`).
    let maximumPictures: Int

    private var takesText: Bool { description.kind == .text }
    private var takesPictures: Bool { description.elementType == .string && !takesText }
    /// The name of an element of BYTES in messages.
    private var element: String { takesText ? "string" : "picture" }

    private func mistake(_ expected: String, _ found: String) -> JSONError {
        .value("input \"\(description.name)\": expected \(expected), found \(found)")
    }

    /// Checks that the model takes a tensor of this shape: the model's own shape, with any number of items if its file
    /// leaves that open.
    static func check(_ shape: Shape, for input: FeatureDescription) throws(JSONError) {
        let expectedShape = input.shape.dimensions, found = shape.dimensions
        var fits = expectedShape.count == found.count
        for (axis, pair) in zip(expectedShape, found).enumerated() where fits {
            fits = pair.0 == pair.1 || pair.1 > 0 && (pair.0 == Shape.dynamic || axis == 0 && input.isBatchOpen)
        }
        guard fits else {
            throw .value(
                "input \"\(input.name)\": expected shape \(Shape(input.metadataShape)), found \(shape)"
                    + (input.metadataShape.contains(Shape.dynamic)
                        ? " (-1 stands for any number of 1 or more)" : ""))
        }
    }

    // MARK: JSON

    func json(_ scanner: inout JSONScanner) throws(JSONError) -> InferBody.Input.Content {
        if takesText {
            let count = try elementCount()
            var texts: [String] = []
            try collect(&scanner, count) { (scanner) throws(JSONError) in
                let kind = try scanner.kind()
                guard kind == .string else { throw mistake(count == 1 ? "a string" : "strings", kind.rawValue) }
                texts.append(try scanner.string())
            }
            return .strings(StringArray(shape: shape, elements: texts))
        }
        if takesPictures { return try pictures(&scanner) }
        let type = description.elementType
        guard type.isInJSON else {
            throw mistake("\(type.datatype) as binary data", "JSON, which does not support that type")
        }
        guard let count = shape.elementCount else { throw mistake("a shape with fewer elements", "\(shape)") }
        let reader = TensorReader(name: description.name, elementType: type, count: count)
        let (elements, extents, found) = try reader.read(&scanner)
        guard found == count else { throw mistake("\(count) elements (shape \(shape))", "\(found)") }
        guard extents.count <= 1 || extents == shape.dimensions else {
            throw mistake("flat data, or data nested as \(shape)", "data nested as \(Shape(extents))")
        }
        do throws(InferenceError) {
            return .tensor(try elements.tensor(type, shape: shape))
        } catch {
            throw JSONError.value(error.message)
        }
    }

    /// Reads strings or pictures, flat or nested as in the shape; axes of 1 may be omitted or added.
    private func collect(
        _ scanner: inout JSONScanner, _ count: Int, _ read: (inout JSONScanner) throws(JSONError) -> Void
    ) throws(JSONError) {
        var found = 0
        let extents = try scanner.elements(name: description.name, "a \(element)") { (scanner) throws(JSONError) in
            guard found < count else { throw wrongCount(count, "more") }
            try read(&scanner)
            found += 1
        }
        guard found == count else { throw wrongCount(count, "\(found)") }
        let long = extents.filter { $0 != 1 }
        guard long.count <= 1 || long == shape.dimensions.filter({ $0 != 1 }) else {
            throw mistake("flat data, or data nested as \(shape)", "data nested as \(Shape(extents))")
        }
    }

    /// Reads encoded pictures as base64 strings: JSON strings cannot hold their bytes.
    private func pictures(_ scanner: inout JSONScanner) throws(JSONError) -> InferBody.Input.Content {
        let count = try elementCount()
        var pictures: [EncodedImage] = []
        try collect(&scanner, count) { (scanner) throws(JSONError) in
            let kind = try scanner.kind()
            guard kind == .string else { throw mistake("pictures as base64 strings", kind.rawValue) }
            pictures.append(EncodedImage(try scanner.base64 { mistake("pictures as base64 (or as binary data)", $0) }))
        }
        return .pictures(pictures)
    }

    /// The number of pictures or strings in the shape. It is checked before reading any: a body of 20 MB can hold
    /// millions of empty ones.
    private func elementCount() throws(JSONError) -> Int {
        guard let count = shape.elementCount else { throw mistake("a shape with fewer elements", "\(shape)") }
        guard count > 0 else { throw mistake("at least one \(element)", "none") }
        let maximum = takesText ? TensorReader.maximumStrings : maximumPictures
        guard count <= maximum else { throw mistake("a batch of at most \(maximum)", "\(count)") }
        return count
    }

    private func wrongCount(_ count: Int, _ found: String) -> JSONError {
        mistake("\(count) \(element)\(count == 1 ? "" : "s") (shape \(shape))", found)
    }

    // MARK: Binary data

    /// Reads the bytes of `range` in the body. Tensors are copied once, into the engine's memory.
    func binary(_ body: HTTPBody, _ range: Range<Int>) throws(JSONError) -> InferBody.Input.Content {
        if takesPictures { return .pictures(try elements(body, range).map { EncodedImage(body, $0) }) }
        if takesText {
            var texts: [String] = []
            for range in try elements(body, range) {
                let text = body.withUnsafeBytes { String(validating: $0[range], as: UTF8.self) }
                guard let text else { throw mistake("strings in UTF-8", "other bytes") }
                texts.append(text)
            }
            return .strings(StringArray(shape: shape, elements: texts))
        }
        let type = description.elementType
        let size = (shape.elementCount ?? 0).multipliedReportingOverflow(by: type.byteCount)
        guard !size.overflow, size.partialValue == range.count else {
            throw mistake(
                "\(size.partialValue) bytes of binary data (shape \(shape) of \(type.datatype))", "\(range.count)")
        }
        do throws(InferenceError) {
            return .tensor(
                try BorrowedArray(elementType: type, shape: shape, byteCount: range.count) { use in
                    body.withUnsafeBytes { use(UnsafeRawBufferPointer(rebasing: $0[range])) }
                })
        } catch {
            throw JSONError.value(error.message)
        }
    }

    /// The ranges of elements of BYTES: each is four bytes of length, little-endian, and as many bytes.
    private func elements(_ body: HTTPBody, _ range: Range<Int>) throws(JSONError) -> [Range<Int>] {
        let count = try elementCount()
        var found: [Range<Int>] = []
        var start = range.lowerBound
        while start < range.upperBound {
            guard found.count < count else { throw wrongCount(count, "more") }
            guard range.upperBound - start >= 4 else {
                throw mistake("four bytes of an element's length", "\(range.upperBound - start)")
            }
            let length = body.withUnsafeBytes { bytes in
                Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt32.self)))
            }
            start += 4
            guard length <= range.upperBound - start else {
                throw mistake("\(length) bytes of element \(found.count)", "\(range.upperBound - start)")
            }
            found.append(start..<start + length)
            start += length
        }
        guard found.count == count else { throw wrongCount(count, "\(found.count)") }
        return found
    }
}
