internal import HTTPServer
internal import HTTPWire
internal import ImagePipeline
internal import Inference
internal import JSON
internal import WireFormats

/// Reads the parts of a form as the inputs of one prediction: a picture's bytes, or the JSON of any other value.
struct FormItem {
    let body: HTTPBody
    let inputs: [FeatureDescription]
    /// True if every required input must be present.
    let isWhole: Bool

    func read(_ parts: [(name: String, part: FormParts.Part)]) throws(ServiceError) -> PredictBody.Item {
        do throws(JSONError) {
            var values = NamedValues(inputs)
            for (name, part) in parts {
                guard let input = inputs.first(where: { $0.name == name }) else { continue }
                do throws(JSONError) {
                    if let value = try value(of: input, part) { values.set(name, value) }
                } catch {
                    throw error.kind == .value ? error.prefixed("part \(part.number): ") : error
                }
            }
            return try values.item(isWhole: isWhole)
        } catch {
            throw ServiceError(error)
        }
    }

    /// The value of a part; nil for the `null` of an optional input.
    private func value(of input: FeatureDescription, _ part: FormParts.Part) throws(JSONError) -> FeatureValue? {
        let type = part.headers.contentType?.lowercased() ?? ""
        let isJSON = type.hasPrefix("application/json")
        return try body.withUnsafeBytes { (bytes) throws(JSONError) -> FeatureValue? in
            let text = UnsafeRawBufferPointer(rebasing: bytes[part.range])
            let first = text.first { !" \t\r\n".utf8.contains($0) }
            switch input.kind {
            case .image where RawFrame.isDescribed(by: part.type):
                return .image(EncodedImage(body, part.range, type: part.type))
            case .image where !isJSON && first != UInt8(ascii: "{") && first != UInt8(ascii: "\""):
                // No picture format begins with one of these.
                return .image(EncodedImage(body, part.range))
            case .string where !isJSON && part.headers.filename != nil && text.count == input.byteCount:
                return try bytesOf(input, text)
            case .text where !isJSON && first != UInt8(ascii: "\""):
                return .string(try Self.text(text, of: input))
            default: break
            }
            var scanner = JSONScanner(text, subject: "part \(part.number), input \"\(input.name)\",")
            if input.isOptional, try scanner.takesNull() {
                try scanner.end()
                return nil
            }
            let value = try InputValueReader(input: input).read(&scanner)
            try scanner.end()
            return value
        }
    }

    /// Reads a file with the bytes of the elements.
    private func bytesOf(_ input: FeatureDescription, _ bytes: UnsafeRawBufferPointer) throws(JSONError) -> FeatureValue
    {
        do throws(InferenceError) {
            return .borrowedArray(
                try BorrowedArray(elementType: input.elementType, shape: input.shape, elements: [UInt8](bytes)))
        } catch {
            throw .value("input \"\(input.name)\": \(error.message)")
        }
    }

    /// Reads plain text, as forms send it.
    private static func text(
        _ bytes: UnsafeRawBufferPointer, of input: FeatureDescription
    ) throws(JSONError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .value("input \"\(input.name)\": expected text in UTF-8, found other bytes")
        }
        return text
    }
}

extension FeatureDescription {
    /// The bytes of the feature's elements; nil if an axis is open.
    var byteCount: Int? { shape.elementCount.map { $0 * elementType.byteCount } }
}
