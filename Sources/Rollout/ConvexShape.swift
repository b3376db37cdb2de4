/// A convex polygon: a box, upright or turned.
package struct ConvexShape: Sendable, Hashable {
    package typealias Point = ComparableAnswer.NamedPoint.Place

    /// The corners, clockwise as seen (y points down).
    private let corners: [Point]

    package init(_ box: ComparableAnswer.FoundBox) {
        let (right, bottom) = (box.x + box.width, box.y + box.height)
        let upright = [(box.x, box.y), (right, box.y), (right, bottom), (box.x, bottom)].map(Point.init)
        let corners = box.corners ?? upright
        self.corners = Self.signedArea(corners) < 0 ? corners.reversed() : corners
    }

    package var area: Double { Self.signedArea(corners) }

    /// Half the sum of the cross products of the corners; positive if they go round clockwise as seen.
    private static func signedArea(_ corners: [Point]) -> Double {
        corners.indices.reduce(0) { sum, index in
            let (a, b) = (corners[index], corners[(index + 1) % corners.count])
            return sum + (a.x * b.y - b.x * a.y) / 2
        }
    }

    /// The area that both cover: this one, cut along each side of the other (Sutherland and Hodgman).
    package func common(with other: ConvexShape) -> Double {
        var rest = corners
        for index in other.corners.indices {
            let (a, b) = (other.corners[index], other.corners[(index + 1) % other.corners.count])
            /// Positive on the inner side of the line.
            func side(_ point: Point) -> Double { (b.x - a.x) * (point.y - a.y) - (b.y - a.y) * (point.x - a.x) }
            var cut: [Point] = []
            for (place, point) in rest.enumerated() {
                let before = rest[(place + rest.count - 1) % rest.count]
                let (here, there) = (side(point), side(before))
                if (here >= 0) != (there >= 0) {
                    let part = there / (there - here)
                    cut.append(
                        Point(x: before.x + part * (point.x - before.x), y: before.y + part * (point.y - before.y)))
                }
                if here >= 0 { cut.append(point) }
            }
            rest = cut
        }
        return max(0, Self.signedArea(rest))
    }
}
