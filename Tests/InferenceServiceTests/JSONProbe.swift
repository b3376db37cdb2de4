import Inference
import InferenceService

/// The scanner's parts over an array of bytes: a scanner lives only while text is lent to it.
enum JSONProbe {
    /// The text as one value that is passed over.
    static func skip(_ text: [UInt8]) throws(ServiceError) {
        _ = try read(text) { (scanner: inout JSONScanner) throws(ServiceError) in try scanner.skip() }
    }

    /// The text as a string.
    static func string(_ text: [UInt8]) throws(ServiceError) -> String {
        try read(text) { (scanner: inout JSONScanner) throws(ServiceError) in try scanner.string() }
    }

    /// The text as base64.
    static func base64(_ text: [UInt8]) throws(ServiceError) -> [UInt8]? {
        try read(text) { (scanner: inout JSONScanner) throws(ServiceError) in try scanner.base64() }
    }

    /// The text as numbers of any nesting: their extents and their number.
    static func extents(_ text: [UInt8]) throws(ServiceError) -> (extents: [Int], count: Int) {
        let reader = TensorReader(name: "x", elementType: .float32, count: nil)
        let found = try read(text) { (scanner: inout JSONScanner) throws(ServiceError) in try reader.read(&scanner) }
        return (found.extents, found.count)
    }

    /// The text as 32-bit floats of any nesting.
    static func floats(_ text: [UInt8]) throws(ServiceError) -> [Float] {
        let reader = TensorReader(name: "x", elementType: .float32, count: nil)
        let found = try read(text) { (scanner: inout JSONScanner) throws(ServiceError) in try reader.read(&scanner) }
        var floats: [Float] = []
        let tensor = try? found.array.tensor(.float32, shape: [found.count])
        tensor?.withUnsafeBytes { raw in
            for index in 0..<raw.count / 4 {
                floats.append(raw.loadUnaligned(fromByteOffset: index * 4, as: Float.self))
            }
        }
        return floats
    }

    /// The text as numbers of a type, as they lie in memory.
    static func bytes(_ text: [UInt8], as type: ElementType) throws -> [UInt8] {
        let reader = TensorReader(name: "x", elementType: type, count: nil)
        let found = try read(text) { (scanner: inout JSONScanner) throws(ServiceError) in try reader.read(&scanner) }
        var bytes: [UInt8] = []
        try found.array.tensor(type, shape: [found.count]).withUnsafeBytes { bytes = [UInt8]($0) }
        return bytes
    }

    private static func read<R>(
        _ text: [UInt8], _ body: (inout JSONScanner) throws(ServiceError) -> R
    ) throws(ServiceError) -> R {
        let result: Result<R, ServiceError> = text.withUnsafeBytes { raw in
            var scanner = JSONScanner(raw)
            do throws(ServiceError) {
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
