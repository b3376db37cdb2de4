/// The connected parts of a bitmap and the holes in them, each as the convex hull of its border: what contours of both
/// kinds are needed for.
///
/// A pass over the rows joins runs of equal pixels to parts (8-connected) and runs of others to the background and to
/// holes (4-connected), with a disjoint-set forest. A hull follows from the ends of the runs.
struct PixelComponents {
    private struct Run {
        let row: Int32, start: Int32, end: Int32
    }

    private var runs: [Run] = []
    /// The parent of each run in the forest; a root is its own.
    private var parents: [Int32] = []

    /// The maximum number of pixels: indices of runs have 32 bits.
    static let maximumPixels = 1 << 28

    /// The convex hulls of the parts and of the pixels around the holes, in the order of their first rows.
    /// - Parameters:
    ///   - isCancelled: asked at each row.
    ///   - isSet: returns true for the pixel at a column and a row.
    static func hulls(
        width: Int, height: Int, isCancelled: () -> Bool, _ isSet: (Int, Int) -> Bool
    ) throws(ObservationError) -> [[PlanePoint]] {
        guard width > 0, height > 0, width.multipliedReportingOverflow(by: height).partialValue <= maximumPixels else {
            return []
        }
        var parts = PixelComponents(), holes = PixelComponents()
        // The background around the bitmap is a run of its own, with which runs at the edges are joined.
        holes.append(Run(row: -1, start: 0, end: Int32(width)))
        var partsAbove = 0, holesAbove = 0
        for row in 0..<height {
            if isCancelled() { throw .cancelled }
            let partsHere = parts.runs.count, holesHere = holes.runs.count
            var start = 0
            while start < width {
                let value = isSet(start, row)
                var end = start + 1
                while end < width, isSet(end, row) == value { end += 1 }
                let run = Run(row: Int32(row), start: Int32(start), end: Int32(end))
                if value {
                    parts.append(run)
                } else {
                    holes.append(run)
                    if start == 0 || end == width || row == height - 1 { holes.join(holes.runs.count - 1, 0) }
                }
                start = end
            }
            parts.joinRows(partsAbove, partsHere, reach: 1)
            holes.joinRows(holesAbove, holesHere, reach: 0)
            (partsAbove, holesAbove) = (partsHere, holesHere)
        }
        var hulls: [[PlanePoint]] = []
        parts.forEach { runs in
            hulls.append(
                PlanePoint.hull(
                    runs.flatMap {
                        [
                            PlanePoint(x: Double($0.start), y: Double($0.row)),
                            PlanePoint(x: Double($0.end - 1), y: Double($0.row)),
                        ]
                    }))
        }
        holes.forEach { runs in
            guard runs.first?.row != -1 else { return }
            var around: [PlanePoint] = []
            for run in runs {
                let row = Double(run.row), left = Double(run.start), right = Double(run.end - 1)
                around += [
                    PlanePoint(x: left, y: row - 1), PlanePoint(x: right, y: row - 1),
                    PlanePoint(x: left - 1, y: row), PlanePoint(x: right + 1, y: row),
                    PlanePoint(x: left, y: row + 1), PlanePoint(x: right, y: row + 1),
                ]
            }
            hulls.append(PlanePoint.hull(around.sorted { ($0.y, $0.x) < ($1.y, $1.x) }))
        }
        return hulls
    }

    private mutating func append(_ run: Run) {
        parents.append(Int32(runs.count))
        runs.append(run)
    }

    /// Joins runs of a row with those of the row above it that they touch.
    /// - Parameters:
    ///   - above: the index of the first run of the row above.
    ///   - here: the index of the first run of the row, to which the last run belongs.
    ///   - reach: 1 if pixels that touch at a corner are connected, otherwise 0.
    private mutating func joinRows(_ above: Int, _ here: Int, reach: Int32) {
        var upper = above, lower = here
        // The row above may have no runs, and `above` may be that of an earlier row.
        while upper < here, lower < runs.count {
            if runs[upper].row == runs[lower].row - 1, runs[upper].start < runs[lower].end + reach,
                runs[lower].start < runs[upper].end + reach
            {
                join(upper, lower)
            }
            if runs[upper].end < runs[lower].end { upper += 1 } else { lower += 1 }
        }
    }

    private mutating func root(_ run: Int) -> Int {
        var run = run
        while parents[run] != Int32(run) {
            parents[run] = parents[Int(parents[run])]
            run = Int(parents[run])
        }
        return run
    }

    /// The root is the earlier one, so that the background's is run 0.
    private mutating func join(_ one: Int, _ other: Int) {
        let first = root(one), second = root(other)
        if first != second { parents[max(first, second)] = Int32(min(first, second)) }
    }

    /// Calls `body` with the runs of each tree, in the order of their rows.
    private mutating func forEach(_ body: ([Run]) -> Void) {
        var counts = [Int32](repeating: 0, count: runs.count + 1)
        for run in runs.indices { counts[root(run) + 1] += 1 }
        for run in runs.indices { counts[run + 1] += counts[run] }
        var places = counts, order = [Int32](repeating: 0, count: runs.count)
        for run in runs.indices {
            let tree = root(run)
            order[Int(places[tree])] = Int32(run)
            places[tree] += 1
        }
        for run in runs.indices where counts[run] < counts[run + 1] {
            body(order[Int(counts[run])..<Int(counts[run + 1])].map { runs[Int($0)] })
        }
    }
}
