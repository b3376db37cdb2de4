/// A rectangle at any angle.
package struct EnclosingRectangle: Sendable, Hashable {
    /// The corners in order around it.
    package let corners: [PlanePoint]
    /// The lengths of its sides: from the first corner to the second, and from the second to the third.
    let width: Double, height: Double

    var shorterSide: Double { min(width, height) }

    /// The rectangle of the smallest area around a convex polygon. Nil without points.
    ///
    /// One of its sides lies on an edge of the polygon, so each edge is tried.
    /// - Parameter hull: the vertices of the polygon, in order around it.
    init?(around hull: [PlanePoint]) {
        guard let first = hull.first else { return nil }
        var best: (area: Double, along: PlanePoint, left: Double, right: Double, top: Double, bottom: Double)?
        for (index, start) in hull.enumerated() {
            let edge = hull[(index + 1) % hull.count] - start, length = edge.length
            guard length > 0 else { continue }
            let along = edge * (1 / length)
            var left = Double.infinity, right = -Double.infinity, top = left, bottom = right
            for point in hull {
                let u = point.dot(along), v = along.cross(point)
                (left, right, top, bottom) = (min(left, u), max(right, u), min(top, v), max(bottom, v))
            }
            let area = (right - left) * (bottom - top)
            if area < best?.area ?? .infinity { best = (area, along, left, right, top, bottom) }
        }
        guard let best else {
            (corners, width, height) = ([first, first, first, first], 0, 0)
            return
        }
        func corner(_ u: Double, _ v: Double) -> PlanePoint {
            PlanePoint(x: u * best.along.x - v * best.along.y, y: u * best.along.y + v * best.along.x)
        }
        corners = [
            corner(best.left, best.top), corner(best.right, best.top), corner(best.right, best.bottom),
            corner(best.left, best.bottom),
        ]
        (width, height) = (best.right - best.left, best.bottom - best.top)
    }

    /// Orders four corners: top left, top right, bottom right, bottom left. The two leftmost ones are those of the left
    /// side.
    package static func ordered(_ corners: [PlanePoint]) -> [PlanePoint] {
        let sorted = corners.sorted { $0.x < $1.x }
        guard sorted.count == 4 else { return corners }
        let left = sorted[1].y > sorted[0].y ? (sorted[0], sorted[1]) : (sorted[1], sorted[0])
        let right = sorted[3].y > sorted[2].y ? (sorted[2], sorted[3]) : (sorted[3], sorted[2])
        return [left.0, right.0, right.1, left.1]
    }
}
