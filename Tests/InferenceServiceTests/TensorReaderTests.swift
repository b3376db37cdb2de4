import Inference
import InferenceService
import JSON
import Testing

/// JSON numbers become elements of the type that the engine takes.
@Suite struct TensorReaderTests {
    /// Rounded to the nearest, ties to even, as all other ways to a brain float.
    @Test(arguments: [
        ("1", 0x3F80), ("1.00390625", 0x3F80), ("1.0039064", 0x3F81), ("1.01171875", 0x3F82), ("-1.01", 0xBF81),
        ("3.3895e38", 0x7F7F), ("0", 0), ("1e-45", 0),
    ])
    func brainFloatsAreRounded(_ text: String, _ bits: UInt16) throws {
        let bytes = try bytes(text, as: .bfloat16)
        #expect(bytes == [UInt8(truncatingIfNeeded: bits), UInt8(truncatingIfNeeded: bits >> 8)], "\(text)")
    }

    @Test func brainFloatsHaveNoInfinity() {
        #expect(throws: JSONError.self) { try bytes("3.4e38", as: .bfloat16) }
    }

    /// The text as numbers of a type, as they lie in memory.
    private func bytes(_ text: String, as type: ElementType) throws -> [UInt8] {
        let reader = TensorReader(name: "x", elementType: type, count: nil)
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
