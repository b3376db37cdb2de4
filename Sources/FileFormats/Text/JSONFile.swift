package import JSON

/// Reads a whole JSON text into values: configurations are small, and asked for by name.
package enum JSONFile {
    /// The most values of a text: a label each of 200,000 classes, three times.
    private static let mostValues = 1_000_000

    package static func read(_ text: [UInt8]) throws(FormatError) -> JSONValue {
        let mark = ByteOrderMark.length(in: text)
        let result = text.withUnsafeBytes { bytes -> Result<JSONValue, JSONError> in
            var scanner = JSONScanner(UnsafeRawBufferPointer(rebasing: bytes[mark...]), subject: "it")
            var left = mostValues
            do throws(JSONError) {
                let value = try Self.value(&scanner, depth: 0, &left)
                try scanner.end()
                return .success(value)
            } catch {
                return .failure(error)
            }
        }
        switch result {
        case .success(let value): return value
        case .failure(let error):
            throw FormatError(error.message.hasPrefix("it ") ? String(error.message.dropFirst(3)) : error.message)
        }
    }

    private static func value(_ scanner: inout JSONScanner, depth: Int, _ left: inout Int) throws(JSONError)
        -> JSONValue
    {
        left -= 1
        guard left >= 0 else { throw .syntax("has more than \(mostValues) values") }
        guard depth <= JSONScanner.mostDepth else {
            throw .syntax("is nested too deeply: the limit is \(JSONScanner.mostDepth) levels")
        }
        switch try scanner.kind() {
        case .null:
            try scanner.null()
            return .null
        case .bool: return .bool(try scanner.bool())
        case .string: return .string(try scanner.string())
        case .number:
            let number = try scanner.number()
            if number.isInteger, let integer = number.integer(Int.self, in: scanner.text) { return .integer(integer) }
            guard let value = number.double(in: scanner.text) else {
                throw .syntax("has a number out of the range of 64-bit floats")
            }
            return .number(value)
        case .array:
            var elements: [JSONValue] = []
            _ = scanner.take(UInt8(ascii: "["))
            if scanner.take(UInt8(ascii: "]")) { return .array([]) }
            repeat {
                elements.append(try value(&scanner, depth: depth + 1, &left))
            } while scanner.take(UInt8(ascii: ","))
            guard scanner.take(UInt8(ascii: "]")) else { throw scanner.malformed("\",\" or \"]\"") }
            return .array(elements)
        case .object:
            // JSONScanner's own way through an object stops at 4,096 members: labels are more.
            var members: [String: JSONValue] = [:]
            _ = scanner.take(UInt8(ascii: "{"))
            if scanner.take(UInt8(ascii: "}")) { return .object([:]) }
            repeat {
                scanner.skipSpace()
                guard scanner.byte == UInt8(ascii: "\"") else { throw scanner.malformed("a member's name in quotes") }
                let name = try scanner.string()
                guard scanner.take(UInt8(ascii: ":")) else { throw scanner.malformed("\":\"") }
                // Of two members with one name the last counts, as in Python.
                members[name] = try value(&scanner, depth: depth + 1, &left)
            } while scanner.take(UInt8(ascii: ","))
            guard scanner.take(UInt8(ascii: "}")) else { throw scanner.malformed("\",\" or \"}\"") }
            return .object(members)
        }
    }
}

/// The mark that editors of Windows put before UTF-8 text.
package enum ByteOrderMark {
    /// Its bytes at the start of a text: 3, or 0 without one.
    package static func length(in text: [UInt8]) -> Int { text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0 }
}
