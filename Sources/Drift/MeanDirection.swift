/// The mean direction of the first embeddings, to which later ones are compared.
///
/// The embeddings that make the direction are not in the signal's reference: they are nearer to their own mean than
/// others. Given the direction, the cosines of all others are exchangeable if the pictures are.
struct MeanDirection: Sendable, Equatable {
    /// The maximum number of elements of an embedding; longer ones have no such signal.
    static let longest = 16_384

    /// The sum of the first embeddings of length 1.
    private(set) var sum: [Double] = []
    /// Their number.
    private(set) var count = 0

    /// No embedding.
    init() {}

    /// The direction of earlier pictures; nil if a number is not possible.
    init?(sum: [Double], count: Int) {
        // Each embedding has the length 1.
        guard count >= 0, sum.count <= Self.longest, sum.isEmpty == (count == 0),
            sum.allSatisfy({ abs($0) <= Double(count) + 1 })
        else { return nil }
        self.sum = sum
        self.count = count
    }

    /// The number of embeddings that make a direction: a tenth of the reference, from 20 to 200.
    static func needed(reference: Int) -> Int { min(200, max(20, reference / 10)) }

    /// Takes an embedding: one of the first joins the direction, a later one is compared with it.
    /// - Returns: (1 + cosine) / 2; nil for one of the first, and for an embedding without a direction.
    mutating func take(_ vector: [Float], needed: Int) -> Double? {
        guard !vector.isEmpty, vector.count <= Self.longest, sum.isEmpty || sum.count == vector.count else {
            return nil
        }
        let square = vector.reduce(0.0) { $0 + Double($1) * Double($1) }
        guard square > 0, square.isFinite else { return nil }
        let length = square.squareRoot()
        guard count >= needed else {
            if sum.isEmpty { sum = Array(repeating: 0, count: vector.count) }
            for index in vector.indices { sum[index] += Double(vector[index]) / length }
            count += 1
            return nil
        }
        var product = 0.0, sumSquare = 0.0
        for index in vector.indices {
            product += sum[index] * Double(vector[index])
            sumSquare += sum[index] * sum[index]
        }
        guard sumSquare > 0 else { return nil }
        return (1 + product / (length * sumSquare.squareRoot())) / 2
    }
}
