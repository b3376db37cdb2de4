#if canImport(Glibc)
    internal import Glibc
#else
    internal import Musl
#endif

/// Grows convex polygons with integer corners by a distance, with round corners: points on arcs, rounded to integers,
/// as in the postprocessing of text detectors (Vatti's offsetting with an arc tolerance of a quarter of
/// a pixel).
enum PolygonGrowth {
    /// The points of the grown polygon; none for a polygon without an area.
    /// - Parameters:
    ///   - polygon: the corners, in any order around it.
    ///   - distance: in pixels, more than 0.
    static func grown(_ polygon: [PlanePoint], by distance: Double) -> [PlanePoint] {
        let hull = PlanePoint.hull(polygon.sorted { ($0.y, $0.x) < ($1.y, $1.x) })
        guard hull.count > 2, distance > 0, distance < 1e6 else { return [] }
        let count = hull.count
        // The hull runs clockwise as seen on a screen: these normals point outwards.
        let normals = hull.indices.map { (index: Int) -> PlanePoint in
            let edge = hull[(index + 1) % count] - hull[index], length = edge.length
            return PlanePoint(x: edge.y * (1 / length), y: edge.x * (-1 / length))
        }
        let tolerance = min(0.25, distance * 0.25)
        let steps = min(Double.pi / acos(1 - tolerance / distance), distance * .pi)
        let step = 2 * Double.pi / steps
        var points: [PlanePoint] = []
        for (index, corner) in hull.enumerated() {
            let before = normals[(index + count - 1) % count], after = normals[index]
            let sine = min(max(before.cross(after), -1), 1)
            func add(_ normal: PlanePoint) {
                let x = corner.x + normal.x * distance, y = corner.y + normal.y * distance
                points.append(
                    PlanePoint(x: x.rounded(.toNearestOrAwayFromZero), y: y.rounded(.toNearestOrAwayFromZero)))
            }
            if abs(sine * distance) < 1, before.dot(after) > 0 {
                add(before)
                continue
            }
            let arcs = max(1, Int((atan2(sine, before.dot(after)) / step).rounded(.toNearestOrAwayFromZero)))
            var normal = before
            for _ in 0..<arcs {
                add(normal)
                normal = PlanePoint(
                    x: normal.x * cos(step) - normal.y * sin(step), y: normal.x * sin(step) + normal.y * cos(step))
            }
            add(after)
        }
        return points
    }
}
