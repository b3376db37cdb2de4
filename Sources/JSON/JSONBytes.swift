internal import FoundationEssentials

/// JSON text of values that are not on the hot path.
package enum JSONBytes {
    /// The value as JSON, keys sorted.
    package static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return [UInt8](try encoder.encode(value))
    }
}
