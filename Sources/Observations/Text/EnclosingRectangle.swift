#if canImport(Glibc)
    internal import Glibc
#else
    internal import Musl
#endif

/// The rectangle of the smallest area around a polygon, at any angle.
///
/// Corners are computed in 32-bit numbers, step by step as OpenCV 5's `minAreaRect` and `boxPoints` do: readers cut
/// them to whole pixels, and a corner at 640.99994 instead of 641 moves a line by a pixel, which some recognizers read
/// otherwise.
package struct EnclosingRectangle: Sendable, Hashable {
    /// The corners in order around it.
    package let corners: [PlanePoint]
    /// The length of the shorter side; 0 for polygons without an area.
    let shorterSide: Double

    /// Nil without points.
    /// - Parameter hull: the vertices of a convex polygon, in order around it, as ``PlanePoint/hull(_:)`` returns them.
    init?(around hull: [PlanePoint]) {
        guard let first = hull.first, let last = hull.last else { return nil }
        guard let fit = Calipers(hull)?.smallest() else {
            (corners, shorterSide) = ([first, last, last, first], 0)
            return
        }
        // The angle in degrees from -90 to 0: each quarter turn exchanges the sides.
        var angle = atan2(Double(fit.across.y), Double(fit.across.x)) * 180 / Double.pi
        var width = Self.length(fit.across), height = Self.length(fit.down)
        while angle >= 0 { (angle, width, height) = (angle - 90, height, width) }
        while angle < -90 { (angle, width, height) = (angle + 90, height, width) }
        let radians = Double(Float(angle)) * Double.pi / 180
        let sine = Float(sin(radians)) * 0.5, cosine = Float(cos(radians)) * 0.5
        let x = fit.corner.x + (fit.across.x + fit.down.x) * 0.5, y = fit.corner.y + (fit.across.y + fit.down.y) * 0.5
        let (a, b) = (SIMD2(sine * height, cosine * height), SIMD2(cosine * width, sine * width))
        func corner(_ first: FloatingPointSign, _ second: FloatingPointSign) -> PlanePoint {
            let x = first == .plus ? x + a.x : x - a.x, y = first == .plus ? y - a.y : y + a.y
            return PlanePoint(
                x: Double(second == .plus ? x + b.x : x - b.x), y: Double(second == .plus ? y + b.y : y - b.y))
        }
        corners = [corner(.minus, .minus), corner(.plus, .minus), corner(.plus, .plus), corner(.minus, .plus)]
        shorterSide = Double(min(width, height))
    }

    private static func length(_ vector: SIMD2<Float>) -> Float {
        Float((Double(vector.x) * Double(vector.x) + Double(vector.y) * Double(vector.y)).squareRoot())
    }

    /// The area of the polygon of the corners over its perimeter.
    var areaOverPerimeter: Double {
        var area = 0.0, perimeter = 0.0
        for (index, one) in corners.enumerated() {
            let other = corners[(index + 1) % corners.count]
            area += one.cross(other)
            perimeter += PlanePoint.distance(one, other)
        }
        return perimeter > 0 ? abs(area) / 2 / perimeter : 0
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
