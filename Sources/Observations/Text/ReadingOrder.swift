#if canImport(Glibc)
    internal import Glibc
#else
    internal import Musl
#endif

/// The order in which the lines of a page are read, which follows from their places.
///
/// The page's direction is that of most of its text, weighted by length. Two lines are in one row if, in that
/// direction, the middle of one lies within the height of the other. Rows follow each other from top to bottom, and the
/// lines of a row from left to right, across columns: the prices of a receipt belong to their rows. A line that is 45
/// degrees or more off the page's direction is a row of its own, before the first row with a middle below its upper
/// edge.
package enum ReadingOrder {
    /// The rows, each with the indices of its lines in order.
    /// - Parameter lines: the corners of each line in order around it; the text runs from the first to the second.
    package static func rows(_ lines: [[PlanePoint]]) -> [[Int]] {
        let lines = lines.map(Line.init), page = direction(lines)
        let across = PlanePoint(x: -page.y, y: page.x)
        var rows: [(place: Double, lines: [Int])] = []
        var alone: [Int] = [], together: [Int] = []
        for (index, line) in lines.enumerated() { line.isAlong(page) ? together.append(index) : alone.append(index) }
        for index in alone {
            rows.append((lines[index].corners.map { $0.dot(across) }.min() ?? 0, [index]))
        }
        // Lines in the order of their middles: rows are joined with the lines that follow within reach.
        together.sort { lines[$0].middle.dot(across) < lines[$1].middle.dot(across) }
        let middles = together.map { lines[$0].middle.dot(across) }
        let halves = together.map { lines[$0].thickness(across: across) / 2 }
        var row: [Int] = [], reach = -Double.infinity
        func finish() {
            guard !row.isEmpty else { return }
            let ordered = row.map { together[$0] }.sorted {
                (lines[$0].middle.dot(page), $0) < (lines[$1].middle.dot(page), $1)
            }
            rows.append((row.reduce(0) { $0 + middles[$1] } / Double(row.count), ordered))
        }
        // The lowest middle above the next line that reaches it: of that line and of all below it.
        var lowest = [Double](repeating: .infinity, count: together.count + 1)
        for place in together.indices.reversed() {
            lowest[place] = min(lowest[place + 1], middles[place] - halves[place])
        }
        for place in together.indices {
            // A line above reaches this one's middle, or this one or one below reaches the middle of the line above.
            let previous = place > 0 ? middles[place - 1] : -Double.infinity
            if middles[place] > reach, lowest[place] > previous {
                finish()
                row = []
                reach = -Double.infinity
            }
            row.append(place)
            reach = max(reach, middles[place] + halves[place])
        }
        finish()
        return rows.enumerated().sorted { ($0.element.place, $0.offset) < ($1.element.place, $1.offset) }
            .map(\.element.lines)
    }

    /// The lines of text of a page: the lines of a row joined by spaces, rows by line feeds.
    package static func text(_ rows: [[Int]], _ texts: [String]) -> String {
        rows.map { row in row.map { texts[$0] }.joined(separator: " ") }.joined(separator: "\n")
    }

    /// The direction of most of the text, as a vector of length 1.
    private static func direction(_ lines: [Line]) -> PlanePoint {
        let upright = PlanePoint(x: 1, y: 0)
        let directed = lines.filter { !$0.isNearlySquare && $0.length > 0 }
        // The direction that most text shares, within 15 degrees.
        let near = cos(15 * Double.pi / 180)
        func sum(_ direction: PlanePoint) -> PlanePoint {
            directed.reduce(PlanePoint(x: 0, y: 0)) { $1.direction.dot(direction) >= near ? $0 + $1.along : $0 }
        }
        let candidates =
            directed.count <= maximumCandidates
            ? directed
            : Array(
                directed.sorted {
                    $0.length > $1.length
                }.prefix(maximumCandidates))
        var best = upright, most = 0.0
        for line in candidates {
            let total = sum(line.direction), length = total.length
            if length > most { (best, most) = (total * (1 / length), length) }
        }
        return best
    }

    /// The number of lines, the longest, with directions that may be that of the page.
    private static let maximumCandidates = 64

    private struct Line {
        let corners: [PlanePoint]
        /// The mean of the sides along the text, and of those across it.
        let along: PlanePoint, across: PlanePoint
        let middle: PlanePoint

        init(_ corners: [PlanePoint]) {
            self.corners = corners
            guard corners.count == 4 else {
                (along, across, middle) = (PlanePoint(x: 0, y: 0), PlanePoint(x: 0, y: 0), PlanePoint(x: 0, y: 0))
                return
            }
            along = ((corners[1] - corners[0]) + (corners[2] - corners[3])) * 0.5
            across = ((corners[3] - corners[0]) + (corners[2] - corners[1])) * 0.5
            middle = (corners[0] + corners[1] + corners[2] + corners[3]) * 0.25
        }

        var length: Double { along.length }
        var direction: PlanePoint { along * (1 / length) }

        /// True if the direction may be any: a short word, or a symbol.
        var isNearlySquare: Bool { max(length, across.length) < 1.5 * min(length, across.length) }

        /// True for text in the page's direction or against it, up to 45 degrees off, and for lines that have no
        /// direction of their own.
        func isAlong(_ page: PlanePoint) -> Bool {
            isNearlySquare || length == 0 || abs(direction.dot(page)) > cos(Double.pi / 4)
        }

        /// The height in the page's direction: that of the line itself, not of the rectangle around it.
        func thickness(across page: PlanePoint) -> Double {
            abs(across.dot(page)) > abs(along.dot(page)) ? across.length : along.length
        }
    }
}
