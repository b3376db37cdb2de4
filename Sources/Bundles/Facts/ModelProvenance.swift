/// The sources of the description of a model that is served without a model.json.
public struct ModelProvenance: Sendable, Hashable {
    /// One value with its source.
    public struct Line: Sendable, Hashable {
        /// Its key in model.json, if it has one: `normalize.mean`, `labels`.
        public let name: String
        /// The value, as JSON text.
        public let value: String
        /// The file, or the part of a file.
        public let source: String
        /// The key in that file, or the origin of the default.
        public let key: String
    }

    /// Every value, in the order of model.json.
    public var lines: [Line] = []
    /// The missing values, each as a message that tells how to set it; empty for a model that can classify.
    public private(set) var missing: [String] = []
    /// The key in model.json for each entry of ``missing``: `format`, `normalize`; `unsupported` for unsupported
    /// preprocessing.
    public private(set) var undecidedKeys: [String] = []
    /// Disagreements between sources, and unreadable files, each as a message.
    public var remarks: [String] = []

    /// A description without values.
    public init() {}

    /// The undecided keys of model.json.
    package var undecided: Set<String> { Set(undecidedKeys) }

    /// Adds a value with its source.
    mutating func note(_ name: String, _ value: String, _ source: String, _ key: String) {
        lines.append(Line(name: name, value: value, source: source, key: key))
    }

    package mutating func leaveOpen(_ key: String, _ sentence: String) {
        undecidedKeys.append(key)
        missing.append(sentence)
    }

    /// Removes a key from the missing ones, because its value is now known.
    mutating func decide(_ key: String) {
        let left = zip(undecidedKeys, missing).filter { $0.0 != key }
        undecidedKeys = left.map(\.0)
        missing = left.map(\.1)
    }

    /// The reason that the model is served as tensors only; nil if nothing is missing.
    public var explanation: String? {
        missing.isEmpty
            ? nil
            : "it has no model.json, and its files do not specify " + missing.joined(separator: "; ")
                + " (`ocelli init` writes a model.json to fill in)"
    }
}
