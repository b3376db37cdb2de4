package import JSON

/// Reads JSON files written by other programs. A syntax error is thrown as a `FormatError`.
package enum JSONFile {
    package static func read(_ text: [UInt8]) throws(FormatError) -> JSONValue {
        do throws(JSONTextError) {
            return try JSONTree.read(text, .json).value
        } catch {
            throw FormatError("is not valid JSON: \(error.reason)")
        }
    }
}
