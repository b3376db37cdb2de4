/// One signal of a model's pictures: its reference, its last values, and the evidence that it has changed.
struct SignalMonitor: Sendable, Equatable {
    /// The number of last values that are kept.
    static let recentCount = 200

    /// The pictures of the reference and all since: each that was tested joins, because p-values against a fixed
    /// reference depend on each other.
    var counts = CellCounts()
    var evidence = DriftEvidence()
    /// The number of pictures in the reference, and the sum of their values.
    var referenceCount = 0, referenceSum = 0.0
    /// The last values, oldest first.
    var recent: [Double] = []
    /// True from the picture on at which the evidence reached the threshold.
    var hasDrifted = false

    /// Takes a picture of the reference.
    mutating func learn(_ value: Double) {
        let value = remembered(value)
        counts.add(to: CellCounts.cell(of: value))
        referenceCount += 1
        referenceSum += value
    }

    /// Tests a picture after the reference.
    mutating func test(_ value: Double, u: Double) {
        let cell = CellCounts.cell(of: remembered(value))
        counts.add(to: cell)
        evidence.add(counts.pValue(of: cell, u: u))
    }

    private mutating func remembered(_ value: Double) -> Double {
        let value = min(max(value, 0), 1)
        if recent.count >= Self.recentCount { recent.removeFirst(recent.count - Self.recentCount + 1) }
        recent.append(value)
        return value
    }

    /// The mean of the reference; nil if it has no picture.
    var referenceMean: Double? { referenceCount > 0 ? referenceSum / Double(referenceCount) : nil }
    /// The mean of the last values; nil without any.
    var recentMean: Double? { recent.isEmpty ? nil : recent.reduce(0, +) / Double(recent.count) }
}
