public import FoundationEssentials

/// Any JSON value, as in a bundle's `options` and in the manifest.
public enum JSONValue: Sendable, Hashable, Codable {
    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Decodes a value of any kind.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Encodes the value without a wrapper.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }

    /// Parses JSON text. Comments and trailing commas (JSON5) are accepted, as in hand-written files.
    /// - Throws: ``JSONTextError``, the error with its location.
    public static func parse(_ data: Data) throws(JSONTextError) -> JSONValue { try read(data).value }

    /// Parses JSON5 text, and finds duplicate names in objects.
    package static func read(_ data: Data) throws(JSONTextError) -> JSONTree { try JSONTree.read(utf8(data), .json5) }

    /// Converts the text to UTF-8. UTF-16 and UTF-32 begin with a byte order mark, or have zeros among the first four
    /// bytes (RFC 4627).
    private static func utf8(_ data: Data) -> [UInt8] {
        let start = [UInt8](data.prefix(4)), zeros = start.map { $0 == 0 }
        let encoding: String.Encoding
        switch zeros {
        case [false, false, true, true] where start.starts(with: [0xFF, 0xFE]): encoding = .utf32
        case [true, true, false, false], [true, true, true, false]: encoding = .utf32BigEndian
        case [false, true, true, true]: encoding = .utf32LittleEndian
        case _ where start.starts(with: [0xFF, 0xFE]) || start.starts(with: [0xFE, 0xFF]): encoding = .utf16
        case _ where zeros.first == true: encoding = .utf16BigEndian
        case _ where zeros.dropFirst().first == true: encoding = .utf16LittleEndian
        default: return [UInt8](data)
        }
        // Text with an invalid encoding is not JSON either: keep its bytes, so that the error has their location.
        return String(data: data, encoding: encoding).map { [UInt8]($0.utf8) } ?? [UInt8](data)
    }

    /// The kind of value, for error messages.
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .integer(let value): "the number \(value)"
        case .number(let value): "the number \(value)"
        case .string(let value): "\"\(value.prefix(60))\""
        case .array(let values): "an array of \(values.count)"
        case .object: "an object"
        }
    }
}

/// The error for text that is not JSON.
public struct JSONTextError: Error, Sendable {
    /// The error and its location, in words.
    public let reason: String
}
