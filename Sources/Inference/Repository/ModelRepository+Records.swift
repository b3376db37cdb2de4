extension ModelRepository {
    /// The versions of one model, ascending.
    /// - Parameter version: leaves this one alone.
    /// - Throws: ``InferenceError/modelNotFound(name:known:)`` or ``InferenceError/versionNotFound(name:version:known:)``.
    public func records(of name: String, version: String? = nil) throws(InferenceError) -> [ModelRecord] {
        let records = records.filter { $0.name == name }
        guard !records.isEmpty else { throw .modelNotFound(name: name, known: names) }
        guard let version else { return records }
        let wanted = records.filter { $0.version == version }
        guard !wanted.isEmpty else {
            throw .versionNotFound(name: name, version: version, known: records.map(\.version))
        }
        return wanted
    }
}
