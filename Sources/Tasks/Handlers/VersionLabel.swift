internal import Inference
internal import Repository
package import WireFormats

extension ModelRepository {
    /// The version of a model with a label. Labels become versions nowhere else.
    /// - Throws: 404 for a model that is not served, and for an unknown label.
    package func version(labelled label: String, of name: String) throws(ServiceError) -> String {
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
