import Inference
import InferenceService
import JSON
import Testing
internal import WireFormats

/// The conversion of JSON numbers to elements of the engine's type.
@Suite struct TensorReaderTests {
    /// Rounded to the nearest, ties to even, like all other conversions to a brain float.
    @Test(
        "bfloat16 values are rounded to the nearest, ties to even",
        arguments: [
            ("1", 0x3F80), ("1.00390625", 0x3F80), ("1.0039064", 0x3F81), ("1.01171875", 0x3F82), ("-1.01", 0xBF81),
            ("3.3895e38", 0x7F7F), ("0", 0), ("1e-45", 0),
        ])
    func brainFloatsAreRounded(_ text: String, _ bits: UInt16) throws {
        let bytes = try bytes(text, as: .bfloat16)
        #expect(bytes == [UInt8(truncatingIfNeeded: bits), UInt8(truncatingIfNeeded: bits >> 8)], "\(text)")
    }

    @Test("a number beyond the range of bfloat16 is refused")
    func brainFloatsHaveNoInfinity() {
        #expect(throws: JSONError.self) { try bytes("3.4e38", as: .bfloat16) }
    }

    @Test(
        "booleans may be true, false, 0 and 1, and other values are refused",
        arguments: [
            ("true", [1]), ("false", [0]), ("[1,0,true]", [1, 0, 1]), ("2", nil), ("-1", nil), ("0.5", nil),
            ("null", nil),
        ] as [(String, [UInt8]?)])
    func truthValues(_ text: String, _ expected: [UInt8]?) {
        #expect((try? bytes(text, as: .bool)) == expected)
    }

    @Test(
        "float16 values are rounded, and values beyond the range are refused",
        arguments: [
            ("65504", [0xFF, 0x7B]), ("65519", [0xFF, 0x7B]), ("65520", nil), ("-65520", nil), ("1", [0x00, 0x3C]),
            ("5.9604645e-8", [0x01, 0x00]),
        ] as [(String, [UInt8]?)])
    func halves(_ text: String, _ expected: [UInt8]?) {
        #expect((try? bytes(text, as: .float16)) == expected)
    }

    @Test(
        "integers must be whole and within the range of their type",
        arguments: [
            ("127", ElementType.int8, [127]), ("128", .int8, nil), ("255", .uint8, [255]), ("256", .uint8, nil),
            ("-1", .uint8, nil), ("1.5", .uint8, nil), ("65535", .uint16, [255, 255]), ("-32768", .int16, [0, 128]),
            ("4294967295", .uint32, [255, 255, 255, 255]), ("4294967296", .uint32, nil),
        ] as [(String, ElementType, [UInt8]?)])
    func integersInTheirRange(_ text: String, _ type: ElementType, _ expected: [UInt8]?) {
        #expect((try? bytes(text, as: type)) == expected)
    }

    /// A few too many numbers are counted for the error; the rest is not read.
    @Test("reading stops 1,024 numbers past the expected count, and the error gives both")
    func tooManyNumbersAreNotRead() {
        func error(_ count: Int) -> String {
            let text = Array(("[" + String(repeating: "0,", count: count - 1) + "0]").utf8)
            let reader = TensorReader(name: "x", elementType: .float32, count: 4)
            return text.withUnsafeBytes { raw in
                var scanner = JSONScanner(raw)
                do throws(JSONError) { return "\(try reader.read(&scanner).count)" } catch { return error.message }
            }
        }
        #expect(error(4) == "4" && error(5) == "5" && error(1028) == "1028")
        #expect(error(1029) == "input \"x\": expected at most 4 numbers, found more than 1028")
    }

    /// `null` is NaN (the bits are numpy's) if missing values are accepted; `NaN` is named in the error, unless it is
    /// accepted too.
    @Test(
        "null becomes NaN where missing values are accepted, and is refused elsewhere",
        arguments: [
            (.float32, [0, 0, 0xC0, 0x7F]), (.float64, [0, 0, 0, 0, 0, 0, 0xF8, 0x7F]), (.float16, [0, 0x7E]),
            (.bfloat16, [0xC0, 0x7F]),
        ] as [(ElementType, [UInt8])])
    func missingValuesAreNaN(_ type: ElementType, _ nan: [UInt8]) throws {
        #expect(try bytes("null", as: type, takesMissing: true) == nan)
        #expect(try bytes("[null, NaN]", as: type, takesMissing: true, takesNonFinite: true) == nan + nan)
        #expect(throws: JSONError.self) { try bytes("null", as: type) }
        let error = #expect(throws: JSONError.self) { try bytes("[null, NaN]", as: type, takesMissing: true) }
        #expect(error?.message.contains("JSON has no NaN") == true, "\(error?.message ?? "")")
    }

    /// Reads text as numbers of a type; returns their bytes in memory.
    private func bytes(
        _ text: String, as type: ElementType, takesMissing: Bool = false, takesNonFinite: Bool = false
    ) throws -> [UInt8] {
        let reader = TensorReader(
            name: "x", elementType: type, count: nil, takesMissing: takesMissing, takesNonFinite: takesNonFinite)
        let result: Result<[UInt8], any Error> = Array(text.utf8).withUnsafeBytes { raw in
            var scanner = JSONScanner(raw)
            return Result {
                let found = try reader.read(&scanner)
                var bytes: [UInt8] = []
                try found.array.tensor(type, shape: [found.count]).withUnsafeBytes { bytes = [UInt8]($0) }
                return bytes
            }
        }
        return try result.get()
    }
}
