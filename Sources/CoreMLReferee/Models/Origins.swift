/// The number of the file's inputs from which a number of a feature is computed, as `scale * x + shift`.
struct Origin: Sendable {
    /// The index of the input, and the position in it.
    let input: Int, element: Int
    var scale = 1.0, shift = 0.0
    /// True if a model computed the number from the input's. It is rounded then, and missing numbers have no meaning.
    var isComputed = false

    /// The number of the input for which the feature's number is `value`; nil if no number is.
    func number(for value: Double) -> Double? {
        if scale == 1, shift == 0 { return value }
        let number = (value - shift) / scale
        return number.isFinite ? number : nil
    }
}

/// The origins of the numbers of features, by name; nil for numbers that are computed otherwise. A string or a
/// dictionary has one origin.
typealias OriginTable = [String: [Origin?]]

extension OriginTable {
    /// The origins of all inputs of a model, one after the other.
    func joined(_ inputs: [RefereeFeature]) -> [Origin?] {
        inputs.flatMap { self[$0.name] ?? [Origin?](repeating: nil, count: $0.width ?? 0) }
    }
}
