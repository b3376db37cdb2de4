internal import Glibc

/// A measurement of each picture and its answer, in the order of answers and of files.
package enum DriftSignal: String, Sendable, CaseIterable {
    case confidence, entropy, labels, brightness, contrast, sharpness, size, known, vector

    /// The number of signals.
    static let count = allCases.count

    /// The place of the signal among all.
    var index: Int {
        switch self {
        case .confidence: 0
        case .entropy: 1
        case .labels: 2
        case .brightness: 3
        case .contrast: 4
        case .sharpness: 5
        case .size: 6
        case .known: 7
        case .vector: 8
        }
    }
}

/// The signals of one picture, each from 0 to 1. A signal that does not apply is NaN, and does not count.
package struct DriftObservation: Sendable {
    private var values = SIMD16<Double>(repeating: .nan)
    /// The embedding, of which a monitor makes ``DriftSignal/vector``; nil for other answers.
    package var vector: [Float]?

    /// No signal.
    package init() {}

    /// The value of a signal. Values outside of 0 to 1 count as the nearest of these.
    package subscript(signal: DriftSignal) -> Double {
        get { values[signal.index] }
        set { values[signal.index] = newValue }
    }

    /// Sets the signal ``DriftSignal/labels``.
    /// - Parameters:
    ///   - label: the number of the first class.
    ///   - count: the number of classes.
    package mutating func setLabel(_ label: Int, of count: Int) {
        guard label >= 0, label < count else { return }
        self[.labels] = (Double(label) + 0.5) / Double(count)
    }

    /// Sets the signal ``DriftSignal/size``: the logarithm of the number of pixels, of which 2³² give 1.
    /// - Parameters:
    ///   - width: columns of the picture as it was sent.
    ///   - height: rows.
    package mutating func setSize(width: Int, height: Int) {
        guard width > 0, height > 0 else { return }
        self[.size] = log2(Double(width) * Double(height)) / 32
    }

    /// Sets the signal ``DriftSignal/known``.
    /// - Parameter distance: the cosine distance to the taught examples, from 0 to 2.
    package mutating func setDistance(_ distance: Float) { self[.known] = Double(distance) / 2 }
}
