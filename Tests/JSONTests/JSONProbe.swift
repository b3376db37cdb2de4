import JSON

/// Calls the scanner on an array of bytes, which it borrows only during a call.
enum JSONProbe {
    /// Skips the text as one value.
    static func skip(_ text: [UInt8]) throws(JSONError) {
        _ = try read(text) { (scanner: inout JSONScanner) throws(JSONError) in try scanner.skip() }
    }

    /// Reads the text as a string.
    static func string(_ text: [UInt8]) throws(JSONError) -> String {
        try read(text) { (scanner: inout JSONScanner) throws(JSONError) in try scanner.string() }
    }

    /// Reads the text as base64.
    static func base64(_ text: [UInt8]) throws(JSONError) -> [UInt8] {
        try read(text) { (scanner: inout JSONScanner) throws(JSONError) in try scanner.base64 { .value("found \($0)") }
        }
    }

    /// The extents and the number of numbers in nested arrays.
    static func extents(_ text: [UInt8]) throws(JSONError) -> (extents: [Int], count: Int) {
        let found = try numbers(text)
        return (found.shape, found.count)
    }

    /// Reads the text as strings in nested arrays: their extents and their number.
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

    /// Reads the text as 32-bit floats in nested arrays.
    static func floats(_ text: [UInt8]) throws(JSONError) -> [Float] { try numbers(text).elements }

    private static func numbers(_ text: [UInt8]) throws(JSONError) -> JSONScanner.NumberArray<Float> {
        try read(text) { (scanner: inout JSONScanner) throws(JSONError) in
            let bytes = scanner.text
            return try scanner.numbers(
                maximum: text.count, name: "x", fitting: "a number that a 32-bit float can hold",
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
            return Result { () throws(JSONError) in
                let value = try body(&scanner)
                try scanner.end()
                return value
            }
        }
        return try result.get()
    }
}
