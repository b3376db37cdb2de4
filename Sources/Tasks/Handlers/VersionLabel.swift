internal import Inference
internal import Repository
internal import ServiceCore
package import WireFormats

extension ModelRepository {
    /// The version of a model with a label. Labels become versions nowhere else.
    /// - Throws: 404 for a model that is not served, and for an unknown label.
    func version(labelled label: String, of name: String) throws(ServiceError) -> String {
        do throws(InferenceError) {
            _ = try records(of: name)
        } catch {
            throw ServiceError(error)
        }
        let version = number(for: label, of: name)
        if version != label { return version }
        throw ServiceError(.versionNotFound, "no version of model \"\(name)\" has the label \"\(label.prefix(60))\"")
    }
}

extension Call {
    /// The version that the path gives by its number or by a label; nil for the serving one.
    package func version() throws(ServiceError) -> String? {
        guard let label = path.label else { return path.version }
        return try parts.repository.version(labelled: label, of: path.name)
    }
}
