/// Leave-one-out for the nearest mean.
///
/// The mean of few directions is longer than that of many, because less of what differs among them cancels out.
/// Dividing by its length therefore costs a class that lacks an example more than the others, and a new picture, for
/// which no class lacks one, would be answered right more often than the test says: with two examples of a class by ten
/// points and more. So the means are made without the example, and divided by the lengths that they would have with one
/// more. Not by those with the example itself: where it is unlike the others that one is short, and the example would
/// look nearer than a new picture that is as unlike them.
struct LeftOutMeans {
    /// The length of the mean of each class with all its examples.
    private let lengths: [Double]
    private let counts: [Int]

    init(_ set: ExampleSet) {
        counts = set.counts
        let rows = Array(set.rows.indices)
        lengths = ClassMeans(set, rows: rows, centering: Centering(set, rows: rows)).lengths
    }

    /// The length to expect of the mean of `count` directions and one more of their class, by that of the mean of
    /// `count`. Nil for one direction, which tells nothing about how much they differ.
    ///
    /// The square of a mean's length is that of the part that all share, and a share of the rest that falls with their
    /// number. The shared part is taken to be no less than nothing.
    static func lengthWithOneMore(_ length: Double, of count: Int) -> Double? {
        guard count > 1 else { return nil }
        let square = Double(count * count)
        return max((square * length * length - 1) / (square - 1), 1 / Double(count + 1)).squareRoot()
    }

    /// The class of an example that the part leaves out, and its distance.
    func answer(to row: Int, of set: ExampleSet, _ part: ExampleSet.Part) -> (first: Int, distance: Float) {
        let rows = set.rows(of: part)
        let centering = Centering(set, rows: rows)
        let means = ClassMeans(set, rows: rows, centering: centering)
        let own = set.classes[row]
        var expected = lengths
        if let length = Self.lengthWithOneMore(means.lengths[own], of: counts[own] - 1) { expected[own] = length }
        let factors = zip(means.lengths, expected).map { $1 > 0 ? $0 / $1 : 0 }
        let head = TaughtHead(set, centering: centering, means: means)
        return head.answer(leftOut: set.rows[row], factors: factors)
    }
}
