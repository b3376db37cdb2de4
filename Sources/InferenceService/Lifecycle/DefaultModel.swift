internal import Settings

/// What `default_model` names.
enum DefaultModel {
    /// Says so where it names nothing. Not an error: the other models are served, and a reload may bring it.
    static func warn(_ settings: Settings, _ known: [String], _ log: Log) {
        let name = settings.defaultModel
        guard !name.isEmpty, !known.contains(name) else { return }
        log.warning(
            "default_model: unknown model \"\(name)\" (available: \(known.sorted().joined(separator: ", "))); "
                + "/v1/classify answers 404 until it exists")
    }
}
