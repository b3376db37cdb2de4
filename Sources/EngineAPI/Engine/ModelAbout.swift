package import JSON

/// The metadata in a model file.
package struct ModelAbout: Sendable {
    package var details = "", version = "", author = "", license = ""
    /// Other pairs in the file.
    package var userDefined: [(key: String, value: String)] = []

    package init(
        details: String = "", version: String = "", author: String = "", license: String = "",
        userDefined: [(key: String, value: String)] = []
    ) {
        self.details = details
        self.version = version
        self.author = author
        self.license = license
        self.userDefined = userDefined
    }

    /// The pairs in the form that clients receive.
    package var options: JSONValue? {
        guard !userDefined.isEmpty else { return nil }
        return .object(Dictionary(userDefined.map { ($0.key, .string($0.value)) }) { _, last in last })
    }
}
