/// A class for each place of a grid over the input tensor, and for the places between the middles of its cells. Between
/// the middles of four cells scores are interpolated linearly, both ways, and the greatest wins: as if the scores had
/// been scaled up. Where one class wins in all four it wins between them, too; else those that can win are kept.
package struct ClassMap: Sendable, Hashable {
    /// Cells of a row, and rows; the size of the input tensor in pixels.
    package let width: Int, height: Int, tensorWidth: Int, tensorHeight: Int
    /// The number of classes: one more than the largest number in the map can be.
    package let classes: Int
    /// The class of each cell, row by row.
    package let values: [UInt16]
    /// The square right and below cell i has `contenders[starts[i]..<starts[i + 1]]`; none if not interpolated.
    let starts: [Int32], contenders: [Contender]

    /// A class that can win in a square, and its scores in the middles of the four cells.
    struct Contender: Sendable, Hashable {
        let number: UInt16
        let topLeft: Float, topRight: Float, bottomLeft: Float, bottomRight: Float

        /// The score at a place of the square, 0 to 1 each way.
        @inline(__always)
        func score(_ x: Float, _ y: Float) -> Float {
            let top = topLeft + (topRight - topLeft) * x, bottom = bottomLeft + (bottomRight - bottomLeft) * x
            return top + (bottom - top) * y
        }
    }

    /// The class of the whole square right and below a cell's middle; nil if it has several.
    @inline(__always)
    func onlyClass(column: Int, row: Int) -> UInt16? {
        let right = column &+ 1 < width ? 1 : 0, below = row &+ 1 < height ? width : 0
        let place = row &* width &+ column
        let value = values[place]
        return values[place &+ right] == value && values[place &+ below] == value
            && values[place &+ right &+ below] == value ? value : nil
    }

    /// The class at a place of the square right and below a cell's middle, 0 to 1 each way.
    @inline(__always)
    func number(column: Int, row: Int, x: Float, y: Float) -> UInt16 {
        let place = row &* width &+ column
        if place &+ 1 < starts.count {
            let range = Int(starts[place])..<Int(starts[place &+ 1])
            if !range.isEmpty {
                var best = -Float.infinity, number: UInt16 = 0
                for contender in contenders[range] {
                    let score = contender.score(x, y)
                    if score > best {
                        best = score
                        number = contender.number
                    }
                }
                return number
            }
        }
        // The nearest cell.
        let right = x >= 0.5 && column &+ 1 < width ? 1 : 0, below = y >= 0.5 && row &+ 1 < height ? width : 0
        return values[place &+ right &+ below]
    }
}

/// Finds the classes that can win between the middles of cells.
struct ContenderSearch {
    /// Cells of a row, and rows.
    let width: Int, height: Int
    /// The class of each cell.
    let values: [UInt16]
    let scores: Plane
    /// The number of the first channel's class.
    let first: UInt16
    /// The score of class 0 everywhere, where no channel is its own.
    let nothing: Float?

    /// Squares with several classes that are looked at, in rows from the top, and squares times channels: further
    /// squares get the classes of the nearest cells. Only noise has more.
    private static let mostSquares = 1 << 18, mostWork = 1 << 24
    /// Classes of a square beside those that win in a corner.
    private static let mostOthers = 4

    /// - Returns: see ``ClassMap/starts``.
    func run(isCancelled: () -> Bool) throws(ObservationError) -> (starts: [Int32], contenders: [ClassMap.Contender]) {
        var starts: [Int32] = [0], contenders: [ClassMap.Contender] = []
        starts.reserveCapacity(width * height + 1)
        let most = min(Self.mostSquares, Self.mostWork / scores.count)
        var squares = 0
        for row in 0..<height {
            if isCancelled() { throw .cancelled }
            for column in 0..<width {
                let place = row &* width &+ column
                let right = column &+ 1 < width ? 1 : 0, below = row &+ 1 < height ? width : 0
                let corners = SIMD4<Int>(place, place &+ right, place &+ below, place &+ right &+ below)
                let winners = SIMD4<UInt16>(
                    values[corners[0]], values[corners[1]], values[corners[2]], values[corners[3]])
                if winners != SIMD4(repeating: winners[0]), squares < most {
                    squares &+= 1
                    add(corners, winners, to: &contenders)
                }
                starts.append(Int32(truncatingIfNeeded: contenders.count))
            }
        }
        return (starts, contenders)
    }

    /// A class's scores in the four corners, cut to what can be interpolated.
    private func corners(of number: UInt16, _ corners: SIMD4<Int>) -> SIMD4<Float> {
        func cut(_ value: Float) -> Float { value.isNaN ? -1e30 : min(max(value, -1e30), 1e30) }
        if let nothing, number == 0 { return SIMD4(repeating: cut(nothing)) }
        let channel = Int(number) - Int(first)
        func score(_ place: Int) -> Float { cut(scores[place, channel]) }
        return SIMD4(score(corners[0]), score(corners[1]), score(corners[2]), score(corners[3]))
    }

    private func add(_ corners: SIMD4<Int>, _ winners: SIMD4<UInt16>, to contenders: inout [ClassMap.Contender]) {
        var leading: [(number: UInt16, scores: SIMD4<Float>)] = []
        for index in 0..<4 where !leading.contains(where: { $0.number == winners[index] }) {
            leading.append((winners[index], self.corners(of: winners[index], corners)))
        }
        let count = leading.count
        // Between two classes there can be nothing, too.
        let others = (nothing == nil ? Int(first) : 0)..<Int(first) + scores.count
        for number in others.lazy.map({ UInt16(truncatingIfNeeded: $0) }) {
            let scores = self.corners(of: number, corners)
            // A class that another one is at least equal to in every corner wins nowhere.
            if leading[..<count].contains(where: { $0.number == number || all($0.scores .>= scores) }) { continue }
            if leading.count == count + Self.mostOthers {
                guard
                    let weakest = leading.indices[count...].min(by: {
                        leading[$0].scores.sum() < leading[$1].scores.sum()
                    }),
                    leading[weakest].scores.sum() < scores.sum()
                else { continue }
                leading.remove(at: weakest)
            }
            leading.append((number, scores))
        }
        // Of equal scores the first class wins; a score that equals the threshold is enough.
        leading.sort { nothing == nil ? $0.number < $1.number : $0.number &- 1 < $1.number &- 1 }
        for (number, scores) in leading {
            contenders.append(
                ClassMap.Contender(
                    number: number, topLeft: scores[0], topRight: scores[1], bottomLeft: scores[2],
                    bottomRight: scores[3]))
        }
    }
}
