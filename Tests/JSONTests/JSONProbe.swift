import JSON

/// The scanner's parts over an array of bytes: a scanner lives only while text is lent to it.
enum JSONProbe {
    /// The text as one value that is passed over.
    static func skip(_ text: [UInt8]) throws(JSONError) {
        _ = try read(text) { (scanner: inout JSONScanner) throws(JSONError) in try scanner.skip() }
    }

    /// The text as a string.
    static func string(_ text: [UInt8]) throws(JSONError) -> String {
        try read(text) { (scanner: inout JSONScanner) throws(JSONError) in try scanner.string() }
    }

    /// The text as base64.
    static func base64(_ text: [UInt8]) throws(JSONError) -> [UInt8] {
        try read(text) { (scanner: inout JSONScanner) throws(JSONError) in try scanner.base64 { .value("found \($0)") }
        }
    }

    /// The text as numbers of any nesting: their extents and their number.
    static func extents(_ text: [UInt8]) throws(JSONError) -> (extents: [Int], count: Int) {
        let found = try numbers(text)
        return (found.shape, found.count)
    }

    /// The text as strings of any nesting: their extents and their number.
    static func stringExtents(_ text: [UInt8]) throws(JSONError) -> (extents: [Int], count: Int) {
        try read(text) { (scanner: inout JSONScanner) throws(JSONError) in
            var count = 0
            let extents = try scanner.elements(name: "x", "a string") {
                (scanner: inout JSONScanner) throws(JSONError) in
                _ = try scanner.string()
                count += 1
            }
            return (extents, count)
        }
    }

    /// The text as 32-bit floats of any nesting.
    static func floats(_ text: [UInt8]) throws(JSONError) -> [Float] { try numbers(text).elements }

    private static func numbers(_ text: [UInt8]) throws(JSONError) -> JSONScanner.NumberArray<Float> {
        try read(text) { (scanner: inout JSONScanner) throws(JSONError) in
            let bytes = scanner.text
            return try scanner.numbers(
                most: text.count, name: "x", fitting: "a number that a 32-bit float can hold",
                usual: { $0.float(in: bytes) }
            ) { (scanner: inout JSONScanner) throws(JSONError) -> Float? in
                try scanner.number().float(in: bytes)
            }
        }
    }

    private static func read<R>(
        _ text: [UInt8], _ body: (inout JSONScanner) throws(JSONError) -> R
    ) throws(JSONError) -> R {
        let result: Result<R, JSONError> = text.withUnsafeBytes { raw in
            var scanner = JSONScanner(raw)
            do throws(JSONError) {
                let value = try body(&scanner)
                try scanner.end()
                return .success(value)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
