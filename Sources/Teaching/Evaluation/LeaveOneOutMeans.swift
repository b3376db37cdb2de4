/// Leave-one-out for the nearest mean.
///
/// The mean of few directions is longer than the mean of many, because fewer of their differences cancel out. So
/// dividing by the mean's length penalizes the class that lacks the left-out example more than the others. For a new
/// picture no class lacks an example, so the test would underestimate the accuracy: by ten points and more with two
/// examples per class. Therefore the means are computed without the example, and divided by the expected lengths with
/// one more example. The length with the example itself is not used: if the example is unlike the others, that length
/// is short, and the example would seem nearer than an equally unlike new picture.
struct LeaveOneOutMeans {
    /// The length of each class's mean over all its examples.
    private let lengths: [Double]
    private let counts: [Int]

    init(_ set: ExampleSet) {
        counts = set.counts
        let rows = Array(set.rows.indices)
        lengths = ClassMeans(set, rows: rows, centering: Centering(set, rows: rows)).lengths
    }

    /// The expected length of the mean of `count` + 1 directions of a class, computed from the length of the mean of
    /// `count` of them. Nil for one direction, which shows nothing about their spread.
    ///
    /// The square of a mean's length is that of the part that all directions share, plus a part of the rest that
    /// decreases with their number. The shared part is assumed to be at least 0.
    static func lengthWithOneMore(_ length: Double, of count: Int) -> Double? {
        guard count > 1 else { return nil }
        let square = Double(count * count)
        return max((square * length * length - 1) / (square - 1), 1 / Double(count + 1)).squareRoot()
    }

    /// The class of the example that the part leaves out, and its distance.
    func answer(to row: Int, of set: ExampleSet, _ part: ExampleSet.Part) -> (first: Int, distance: Float) {
        let rows = set.rows(of: part)
        let centering = Centering(set, rows: rows)
        let means = ClassMeans(set, rows: rows, centering: centering)
        let own = set.classes[row]
        var expected = lengths
        if let length = Self.lengthWithOneMore(means.lengths[own], of: counts[own] - 1) { expected[own] = length }
        let factors = zip(means.lengths, expected).map { $1 > 0 ? $0 / $1 : 0 }
        let head = TaughtClassifier(set, centering: centering, means: means)
        return head.answer(leftOut: set.rows[row], factors: factors)
    }
}
