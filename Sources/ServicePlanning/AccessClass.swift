/// A class of routes by their purpose. Tokens grant access to classes, not to single routes.
package enum AccessClass: String, Sendable, CaseIterable {
    /// Predictions.
    case infer
    /// Models, metrics, descriptions.
    case read
    /// Loading and unloading models.
    case admin
    /// Changing taught models, and listing and searching their examples.
    case teach
}
