import CResample

/// The form of the inner loops that this processor runs.
enum ResampleLevel {
    /// Found out once.
    static let best = cresample_best()
}
