/// The purpose of a request: tokens open classes of routes, and not single routes.
package enum AccessClass: String, Sendable, CaseIterable {
    /// Predictions.
    case infer
    /// Models, metrics, descriptions.
    case read
    /// Loading and unloading models.
    case admin
    /// Changing taught models, and listing what they were taught.
    case teach
}
