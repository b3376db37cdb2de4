public import EngineAPI
package import Inference
internal import Synchronization

extension ModelRepository {
    /// Every version of every model, sorted by name and ascending version.
    public var records: [ModelRecord] {
        allVersions
            .sorted { ($0.name, $0.order) < ($1.name, $1.order) }
            .map(\.record)
    }

    /// The models that are ready now, unordered.
    package var readyModels: [Model] { allVersions.compactMap(\.readyModel) }

    /// The names of all models.
    public var names: [String] { items.withLock { $0.keys.sorted() } }

    /// The path of the highest version of a model: its folder or file.
    package func location(of name: String) throws(InferenceError) -> String {
        try highest(of: name).path
    }

    /// The version that answers requests, if it is a placeholder, which has no model yet; otherwise nil.
    /// - Parameter version: the version that the request names; nil for none.
    package func placeholder(named name: String, version: String?) -> String? {
        guard let item = try? find(name, version: version), item.isPlaceholder else { return nil }
        return item.version
    }

    /// The versions of one model, ascending.
    /// - Parameter version: return this version only; nil for all.
    /// - Throws: ``InferenceError/modelNotFound(name:known:)`` or
    ///   ``InferenceError/versionNotFound(name:version:known:)``.
    public func records(of name: String, version: String? = nil) throws(InferenceError) -> [ModelRecord] {
        let records = records.filter { $0.name == name }
        guard !records.isEmpty else { throw .modelNotFound(name: name, known: names) }
        guard let word = version else { return records }
        let version = number(for: word, of: name)
        let wanted = records.filter { $0.version == version }
        guard !wanted.isEmpty else {
            throw .versionNotFound(name: name, version: version, known: records.map(\.version))
        }
        return wanted
    }
}
