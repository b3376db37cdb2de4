#if canImport(Glibc)
    internal import Glibc
#else
    internal import Musl
#endif

/// The place of a turned box in the picture.
package struct TurnedRectangle: Sendable, Hashable {
    /// Its corners in pixels of the displayed picture, not clipped: first the one that is top left before turning, then
    /// along the width.
    package var corners: TurnedBox.Corners
    /// The angle of its width in radians, clockwise as seen.
    package var angle: Double

    package init(corners: TurnedBox.Corners, angle: Double) { (self.corners, self.angle) = (corners, angle) }

    /// The box with these corners.
    package var box: TurnedBox { TurnedBox(corners: corners, angle: angle) }

    /// The corners moved by a transform that may turn them by `turn`.
    package func moved(turn: Double, _ transform: (PlanePoint) -> PlanePoint) -> TurnedRectangle {
        TurnedRectangle(corners: corners.map(transform), angle: angle + turn)
    }

    /// The smallest upright rectangle around it, cut at the edges of a picture. A side is negative if the box lies
    /// outside: its right edge is then left of the picture's left one, for example.
    package func around(
        x across: ClosedRange<Double> = -.infinity ... .infinity, y down: ClosedRange<Double> = -.infinity ... .infinity
    ) -> PictureMap.Rectangle {
        let x = corners.all.map(\.x), y = corners.all.map(\.y)
        let left = max(x.min() ?? 0, across.lowerBound), top = max(y.min() ?? 0, down.lowerBound)
        return PictureMap.Rectangle(
            x: left, y: top, width: min(x.max() ?? 0, across.upperBound) - left,
            height: min(y.max() ?? 0, down.upperBound) - top)
    }
}

extension PictureMap {
    /// Scales of the axes that differ by less than this share differ by rounding: a letterbox has whole pixels.
    private static let rounding = 0.02

    /// Converts a turned box of the tensor to the picture. It keeps its angle if the picture was scaled by one factor;
    /// with two factors its angle changes, and its corners may no longer be right angles.
    package func turned(_ box: TurnedBox) -> TurnedRectangle {
        func place(_ point: PlanePoint) -> PlanePoint {
            PlanePoint(x: x.origin + point.x * x.scale, y: y.origin + point.y * y.scale)
        }
        let along = (x: cos(box.angle) * x.scale, y: sin(box.angle) * y.scale)
        let across = (x: sin(box.angle) * x.scale, y: cos(box.angle) * y.scale)
        if abs(x.scale - y.scale) <= Self.rounding * max(x.scale, y.scale) {
            let middle = place(PlanePoint(x: box.x, y: box.y))
            let turned = TurnedBox(
                x: middle.x, y: middle.y, width: box.width * hypot(along.x, along.y),
                height: box.height * hypot(across.x, across.y), angle: box.angle)
            return TurnedRectangle(corners: turned.corners, angle: box.angle)
        }
        // The difference of two angles of the same quadrant, so that whole turns stay.
        let turn = atan2(along.y, along.x) - atan2(sin(box.angle), cos(box.angle))
        return TurnedRectangle(corners: box.corners.map(place), angle: box.angle + turn)
    }

    /// The smallest upright rectangle around a turned one, cut at the picture's edges.
    package func around(_ turned: TurnedRectangle) -> Rectangle {
        turned.around(x: 0...Double(x.length), y: 0...Double(y.length))
    }
}
