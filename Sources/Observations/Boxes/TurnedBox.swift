#if canImport(Glibc)
    internal import Glibc
#else
    internal import Musl
#endif

/// A box that is turned about its center, in pixels; y points down.
package struct TurnedBox: Sendable, Hashable {
    /// The center and the size.
    package var x: Double, y: Double, width: Double, height: Double
    /// The angle from the x axis to its width, in radians, clockwise as seen.
    package var angle: Double

    package init(x: Double, y: Double, width: Double, height: Double, angle: Double) {
        (self.x, self.y, self.width, self.height, self.angle) = (x, y, width, height, angle)
    }

    /// A box as it was before it was turned, and its angle.
    package init(_ box: Box, angle: Float) {
        self.init(
            x: (Double(box.left) + Double(box.right)) / 2, y: (Double(box.top) + Double(box.bottom)) / 2,
            width: Double(box.right) - Double(box.left), height: Double(box.bottom) - Double(box.top),
            angle: Double(angle))
    }

    /// The box with these corners, in the order of ``corners``. The sides that start at the first corner determine it.
    package init(corners: Corners, angle: Double) {
        let (a, b, c) = (corners.topLeft, corners.topRight, corners.bottomRight)
        self.init(
            x: (a.x + c.x) / 2, y: (a.y + c.y) / 2, width: hypot(b.x - a.x, b.y - a.y),
            height: hypot(c.x - b.x, c.y - b.y), angle: angle)
    }

    /// The corners, by the position that they had before the box was turned.
    package struct Corners: Sendable, Hashable {
        package var topLeft: PlanePoint, topRight: PlanePoint, bottomRight: PlanePoint, bottomLeft: PlanePoint

        /// From the top left one, first along the width.
        package var all: [PlanePoint] { [topLeft, topRight, bottomRight, bottomLeft] }

        package func map(_ transform: (PlanePoint) -> PlanePoint) -> Corners {
            Corners(
                topLeft: transform(topLeft), topRight: transform(topRight), bottomRight: transform(bottomRight),
                bottomLeft: transform(bottomLeft))
        }
    }

    package var corners: Corners {
        let along = (x: width / 2 * cos(angle), y: width / 2 * sin(angle))
        let across = (x: -height / 2 * sin(angle), y: height / 2 * cos(angle))
        func corner(_ a: Double, _ b: Double) -> PlanePoint {
            PlanePoint(x: x + a * along.x + b * across.x, y: y + a * along.y + b * across.y)
        }
        return Corners(
            topLeft: corner(-1, -1), topRight: corner(1, -1), bottomRight: corner(1, 1), bottomLeft: corner(-1, 1))
    }
}
