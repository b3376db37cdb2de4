internal import JSON

/// The metadata in a model file.
struct ModelAbout: Sendable {
    var details = "", version = "", author = "", license = ""
    /// Other pairs in the file.
    var userDefined: [(key: String, value: String)] = []

    /// The pairs in the form that clients receive.
    var options: JSONValue? {
        guard !userDefined.isEmpty else { return nil }
        return .object(Dictionary(userDefined.map { ($0.key, .string($0.value)) }) { _, last in last })
    }
}
