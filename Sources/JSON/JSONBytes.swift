internal import FoundationEssentials

/// Encodes values as JSON text, outside the hot path.
package enum JSONBytes {
    /// The value as JSON, with sorted keys.
    package static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return [UInt8](try encoder.encode(value))
    }
}
