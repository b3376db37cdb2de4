/// A class for each cell of a grid over the input tensor, and for the positions between the centers of cells. Between
/// the centers of four cells, scores are interpolated bilinearly, and the greatest wins, as if the scores had been
/// scaled up. If one class wins in all four, it wins between them, too; otherwise the classes that can win are stored.
package struct ClassMap: Sendable, Hashable {
    /// The number of cells in a row, and of rows; the size of the input tensor in pixels.
    package let width: Int, height: Int, tensorWidth: Int, tensorHeight: Int
    /// The number of classes: the greatest possible number in the map, plus one.
    package let classes: Int
    /// The class of each cell, row by row.
    package let values: [UInt16]
    /// The square to the right of and below the center of cell i has `contenders[starts[i]..<starts[i + 1]]`; empty
    /// without interpolation.
    let starts: [Int32], contenders: [Contender]

    /// A class that can win in a square, and its scores at the centers of the four cells.
    struct Contender: Sendable, Hashable {
        let number: UInt16
        let topLeft: Float, topRight: Float, bottomLeft: Float, bottomRight: Float

        /// The score at a position in the square, 0 to 1 on each axis.
        @inline(__always)
        func score(_ x: Float, _ y: Float) -> Float {
            let top = topLeft + (topRight - topLeft) * x, bottom = bottomLeft + (bottomRight - bottomLeft) * x
            return top + (bottom - top) * y
        }
    }

    /// The class of the whole square to the right of and below a cell's center; nil if it has several.
    @inline(__always)
    func onlyClass(column: Int, row: Int) -> UInt16? {
        let right = column &+ 1 < width ? 1 : 0, below = row &+ 1 < height ? width : 0
        let place = row &* width &+ column
        let value = values[place]
        return values[place &+ right] == value && values[place &+ below] == value
            && values[place &+ right &+ below] == value ? value : nil
    }

    /// The class at a position in the square to the right of and below a cell's center, 0 to 1 on each axis.
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

/// Finds the classes that can win between the centers of cells.
struct ContenderSearch {
    /// The number of cells in a row, and of rows.
    let width: Int, height: Int
    /// The class of each cell.
    let values: [UInt16]
    let scores: Plane
    /// The class number of the first channel.
    let first: UInt16
    /// The constant score of class 0 if it has no channel.
    let nothing: Float?

    /// The maximum number of squares with several classes, from the top, and of squares times channels. Squares beyond
    /// get the class of the nearest cell. Only noise has more.
    private static let maximumSquares = 1 << 18, maximumWork = 1 << 24
    /// The maximum number of classes of a square in addition to those that win a corner.
    private static let maximumOthers = 4

    /// - Returns: the values of ``ClassMap/starts`` and ``ClassMap/contenders``.
    func run(isCancelled: () -> Bool) throws(ObservationError) -> (starts: [Int32], contenders: [ClassMap.Contender]) {
        var starts: [Int32] = [0], contenders: [ClassMap.Contender] = []
        starts.reserveCapacity(width * height + 1)
        let maximum = min(Self.maximumSquares, Self.maximumWork / scores.count)
        var squares = 0
        for row in 0..<height {
            if isCancelled() { throw .cancelled }
            for column in 0..<width {
                let place = row &* width &+ column
                let right = column &+ 1 < width ? 1 : 0, below = row &+ 1 < height ? width : 0
                let corners = SIMD4<Int>(place, place &+ right, place &+ below, place &+ right &+ below)
                let winners = SIMD4<UInt16>(
                    values[corners[0]], values[corners[1]], values[corners[2]], values[corners[3]])
                if winners != SIMD4(repeating: winners[0]), squares < maximum {
                    squares &+= 1
                    add(corners, winners, to: &contenders)
                }
                starts.append(Int32(truncatingIfNeeded: contenders.count))
            }
        }
        return (starts, contenders)
    }

    /// A class's scores in the four corners, clamped to finite numbers.
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
        // Class 0 can win between two other classes, too.
        let others = (nothing == nil ? Int(first) : 0)..<Int(first) + scores.count
        for number in others.lazy.map({ UInt16(truncatingIfNeeded: $0) }) {
            let scores = self.corners(of: number, corners)
            // A class wins nowhere if another is at least equal in every corner.
            if leading[..<count].contains(where: { $0.number == number || all($0.scores .>= scores) }) { continue }
            if leading.count == count + Self.maximumOthers {
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
        // Of equal scores, the first class wins; a score equal to the threshold suffices.
        leading.sort { nothing == nil ? $0.number < $1.number : $0.number &- 1 < $1.number &- 1 }
        for (number, scores) in leading {
            contenders.append(
                ClassMap.Contender(
                    number: number, topLeft: scores[0], topRight: scores[1], bottomLeft: scores[2],
                    bottomRight: scores[3]))
        }
    }
}
