/// The drift of one model that is watched, for metrics.
package struct DriftUsage: Sendable {
    package let model: String
    package let hasDrifted: Bool
    /// The evidence of each signal that its pictures have.
    package let evidence: [(signal: String, value: Double)]

    package init(model: String, hasDrifted: Bool, evidence: [(signal: String, value: Double)]) {
        self.model = model
        self.hasDrifted = hasDrifted
        self.evidence = evidence
    }
}
