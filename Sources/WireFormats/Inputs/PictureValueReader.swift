package import Inference
package import JSON

/// Reads a picture in JSON: `{"b64": "..."}`, with its orientation if the file does not say it, and its type if it is
/// a raw frame; or base64 text.
package struct PictureValueReader {
    /// The name of the input, for errors.
    let name: String

    package init(name: String) { self.name = name }

    private static let expected = "a picture as {\"b64\": \"...\"}"
    private static let members = "\"b64\", \"type\" and \"orientation\""

    private func mistake(_ expected: String, _ found: String) -> JSONError {
        .value("input \"\(name)\": expected \(expected), found \(found)")
    }

    package func read(_ scanner: inout JSONScanner) throws(JSONError) -> EncodedImage {
        switch try scanner.kind() {
        case .object: return try object(&scanner)
        // A base64 string without the object is unambiguous too.
        case .string: return EncodedImage(try scanner.base64 { mistake(Self.expected, $0) })
        case let kind: throw mistake(Self.expected, kind.rawValue)
        }
    }

    private func object(_ scanner: inout JSONScanner) throws(JSONError) -> EncodedImage {
        var bytes: [UInt8]?, orientation: ImageOrientation?, type: String?
        try scanner.object { (key, scanner) throws(JSONError) in
            switch key {
            case "b64":
                try scanner.expect(.string, "input \"\(name)\": \"b64\"")
                bytes = try scanner.base64 { mistake(Self.expected, $0) }
            case "type": type = try scanner.string("input \"\(name)\": \"type\"")
            case "orientation": orientation = try self.orientation(&scanner)
            default:
                throw mistake("\(Self.expected) with the members \(Self.members)", "the member \"\(key.prefix(60))\"")
            }
        }
        guard let bytes else { throw mistake(Self.expected, "an object without \"b64\"") }
        var image = EncodedImage(bytes, orientation: orientation)
        image.take(type: type)
        return image
    }

    /// Reads a number or a name.
    private func orientation(_ scanner: inout JSONScanner) throws(JSONError) -> ImageOrientation {
        let text: String
        switch try scanner.kind() {
        case .string: text = try scanner.string()
        case .number:
            let number = try scanner.number()
            text = number.integer(Int.self, in: scanner.text).map { "\($0)" } ?? "another number"
        case let kind: text = kind.rawValue
        }
        guard let orientation = ImageOrientation(text: text) else {
            throw mistake("\(ImageOrientation.expected) as \"orientation\"", "\"\(text.prefix(60))\"")
        }
        return orientation
    }
}
