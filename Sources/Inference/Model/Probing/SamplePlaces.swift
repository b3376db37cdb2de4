/// The places of sampled elements: all, or so many that they visit every row, column and channel.
struct SamplePlaces: Sequence, IteratorProtocol {
    private let count: Int, step: Int
    private var place = 0, left: Int

    /// - Parameters:
    ///   - count: the number of elements.
    ///   - maximum: the maximum number of places.
    init(of count: Int, maximum: Int) {
        self.count = count
        left = Swift.min(count, Swift.max(0, maximum))
        // A step without a common divisor with the count leads to every row, column and channel.
        var step = left == count ? 1 : Swift.max(1, count / Swift.max(1, maximum)) | 1
        while step > 1, Self.greatestCommonDivisor(step, count) > 1 { step += 2 }
        self.step = step
    }

    mutating func next() -> Int? {
        guard left > 0, count > 0 else { return nil }
        defer {
            left -= 1
            place = (place + step) % count
        }
        return place
    }

    private static func greatestCommonDivisor(_ a: Int, _ b: Int) -> Int {
        b == 0 ? a : greatestCommonDivisor(b, a % b)
    }
}
