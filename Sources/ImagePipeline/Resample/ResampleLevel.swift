import CResample

/// Which form of the inner loops this processor runs.
enum ResampleLevel {
    /// Found out once.
    static let best = cresample_best()
}
