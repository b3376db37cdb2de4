/// The pooling of the vectors of a text's tokens to one vector, by the names of sentence-transformers and in the order
/// in which that joins several (`Pooling.forward`).
package enum TextPooling: String, Sendable, CaseIterable {
    /// The first token's vector.
    case cls
    /// The maximum of each number.
    case max
    /// The mean.
    case mean
    /// The sum, divided by the square root of the number of tokens.
    case meanSqrtLength = "mean_sqrt_len"
    /// The mean weighted by the tokens' positions, from 1.
    case weightedMean = "weightedmean"
    /// The last token's vector.
    case lastToken = "lasttoken"

    /// Pools the vectors of one text.
    /// - Parameters:
    ///   - vectors: a vector of `width` numbers for each position.
    ///   - mask: for each position true for a token of the text, false for padding; at least one is true.
    package func pool(_ vectors: UnsafeBufferPointer<Float>, width: Int, mask: [Bool]) -> [Float] {
        let places = mask.indices.filter { mask[$0] && ($0 + 1) * width <= vectors.count }
        func vector(_ place: Int?) -> [Float] {
            guard let place else { return [Float](repeating: 0, count: width) }
            return Array(vectors[place * width..<(place + 1) * width])
        }
        func sum(_ weight: (Int) -> Double) -> [Double] {
            var sum = [Double](repeating: 0, count: width)
            for place in places {
                let weight = weight(place)
                for number in 0..<width { sum[number] += weight * Double(vectors[place * width + number]) }
            }
            return sum
        }
        let count = Double(Swift.max(1, places.count))
        switch self {
        case .cls: return vector(places.first)
        case .lastToken: return vector(places.last)
        case .max:
            var highest = vector(places.first)
            for place in places.dropFirst() {
                for number in 0..<width {
                    highest[number] = Swift.max(highest[number], vectors[place * width + number])
                }
            }
            return highest
        case .mean: return sum { _ in 1 }.map { Float($0 / count) }
        case .meanSqrtLength: return sum { _ in 1 }.map { Float($0 / count.squareRoot()) }
        case .weightedMean:
            let weights = places.reduce(0.0) { $0 + Double($1 + 1) }
            return sum { Double($0 + 1) }.map { Float($0 / Swift.max(weights, 1)) }
        }
    }
}
