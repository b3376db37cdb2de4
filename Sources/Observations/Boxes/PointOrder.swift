/// The order of the numbers of a point, in words: `x y score`, `x y z`, `y x _`. Numbers named `_` are ignored.
package struct PointOrder: Sendable, Hashable {
    /// The words, and the number of numbers in a point.
    package let rawValue: String, count: Int
    /// The indices of its numbers.
    let x: Int, y: Int, z: Int?, score: Int?

    package static let xy = PointOrder(words: ["x", "y"], x: 0, y: 1)
    package static let xyScore = PointOrder(words: ["x", "y", "score"], x: 0, y: 1)
    package static let yxScore = PointOrder(words: ["y", "x", "score"], x: 1, y: 0)

    /// Nil unless the words contain one x and one y, at most one z and score, and at most 16 words.
    package init?(rawValue: String) {
        let words = rawValue.split(separator: " ").map(String.init)
        let read = words.filter { $0 != "_" }
        guard words.count <= 16, Set(read).count == read.count, read.allSatisfy(["x", "y", "z", "score"].contains),
            let x = words.firstIndex(of: "x"), let y = words.firstIndex(of: "y")
        else { return nil }
        self.init(words: words, x: x, y: y)
    }

    private init(words: [String], x: Int, y: Int) {
        (rawValue, count) = (words.joined(separator: " "), words.count)
        (self.x, self.y, z, score) = (x, y, words.firstIndex(of: "z"), words.firstIndex(of: "score"))
    }
}
