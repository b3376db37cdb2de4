package import JSON

/// Reads JSON files that programs write, and whose mistakes are facts among others.
package enum JSONFile {
    package static func read(_ text: [UInt8]) throws(FormatError) -> JSONValue {
        do throws(JSONTextError) {
            return try JSONTree.read(text, .json).value
        } catch {
            throw FormatError("is not valid JSON: \(error.reason)")
        }
    }
}
