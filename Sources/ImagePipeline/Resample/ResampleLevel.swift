import CResample

/// The variant of the inner loops for this processor.
enum ResampleLevel {
    /// Determined once per process.
    static let best = cresample_best()
}
