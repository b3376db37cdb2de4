/// Leave-one-out for the nearest mean.
///
/// The mean of few directions is longer than that of many, because less of what differs among them cancels out.
/// Dividing by its length therefore costs a class that lacks an example more than the others, and a new picture, for
/// which no class lacks one, would be answered right more often than the test says: with two examples of a class by ten
/// points and more. So the means are made without the example, and divided by the lengths that they have with it.
struct LeftOutMeans {
    /// The length of the mean of each class with all its examples.
    private let lengths: [Double]

    init(_ set: ExampleSet) {
        let rows = Array(set.rows.indices)
        lengths = ClassMeans(set, rows: rows, centering: Centering(set, rows: rows)).lengths
    }

    /// The class of an example that the part leaves out, and its distance.
    func answer(to row: Int, of set: ExampleSet, _ part: ExampleSet.Part) -> (first: Int, distance: Float) {
        let rows = set.rows(of: part)
        let centering = Centering(set, rows: rows)
        let means = ClassMeans(set, rows: rows, centering: centering)
        let factors = zip(means.lengths, lengths).map { $1 > 0 ? $0 / $1 : 0 }
        let head = TaughtHead(set, centering: centering, means: means)
        return head.answer(leftOut: set.rows[row], factors: factors)
    }
}
