internal import Inference

extension ModelRepository {
    /// The version of a model that a label stands for: the only place where labels become versions.
    /// - Throws: 404 for a model that is not served, and for a label that no version has.
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
