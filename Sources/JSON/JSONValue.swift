public import FoundationEssentials

/// Any JSON value: what a bundle's `options` are passed on as, and what the manifest is read from.
public enum JSONValue: Sendable, Hashable, Codable {
    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Decodes whatever is there.
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

    /// Encodes the value as itself.
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

    /// Parses JSON text; comments and trailing commas (JSON5) are taken too, as hand-written files have them.
    /// - Throws: ``JSONTextError``, which says what is wrong and where.
    public static func parse(_ data: Data) throws(JSONTextError) -> JSONValue {
        // Foundation's scanner ends the program at a name without quotes that is not UTF-8.
        if let line = lineOfWrongBytes(in: data) {
            throw JSONTextError(reason: "is not valid JSON: line \(line): has bytes that are not UTF-8 text")
        }
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        do {
            return try decoder.decode(JSONValue.self, from: data)
        } catch let DecodingError.dataCorrupted(context) {
            let detail = JSONMistake.find(in: [UInt8](data)) ?? context.debugDescription
            throw JSONTextError(reason: detail)
        } catch {
            // A leaf of no known type: an unterminated string, or a number.
            throw JSONTextError(
                reason: JSONMistake.find(in: [UInt8](data)) ?? "a number is out of the range of 64-bit floats")
        }
    }

    /// The first name that an object of the text has twice, with the place of the second: the parser keeps one of the two values.
    package static func repeatedName(in data: Data) -> String? { JSONMistake.repeatedName(in: [UInt8](data)) }

    /// The line of the first byte that is not UTF-8's; nil where there is none. UTF-16 and UTF-32, which begin with a mark or have zeros
    /// among the first four bytes, are Foundation's to decode.
    private static func lineOfWrongBytes(in data: Data) -> Int? {
        let start = [UInt8](data.prefix(4))
        guard !start.contains(0), !start.starts(with: [0xFF, 0xFE]), !start.starts(with: [0xFE, 0xFF]),
            String(validating: data, as: UTF8.self) == nil
        else { return nil }
        var bytes = data.makeIterator(), decoder = UTF8()
        var line = 1
        while case .scalarValue(let scalar) = decoder.decode(&bytes) {
            if scalar == "\n" { line += 1 }
        }
        return line
    }

    /// A description of the kind of value, for error messages.
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

/// Text that is not JSON.
public struct JSONTextError: Error, Sendable {
    /// The mistake and its place, in words.
    public let reason: String
}
