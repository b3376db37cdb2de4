/// The position of one axis of the input tensor in the picture as it is displayed.
package struct AxisMap: Sendable, Hashable {
    /// Pixels of the picture for one of the tensor, and the picture's coordinate at the tensor's 0.
    package let scale: Double, origin: Double
    /// The picture's length in pixels.
    package let length: Int
    /// The part of the picture that the tensor shows.
    package let seen: ClosedRange<Double>

    /// An axis. `scale` is greater than 0.
    package init(scale: Double, origin: Double, length: Int, seen: ClosedRange<Double>) {
        (self.scale, self.origin, self.length, self.seen) = (scale, origin, length, seen)
    }

    /// The picture's coordinate of one of the tensor's, cut off at the picture's edges.
    package func picture(_ tensor: Float) -> Double {
        min(max(origin + Double(tensor) * scale, 0), Double(length))
    }

    /// The tensor's coordinate of one of the picture's.
    package func tensor(_ picture: Double) -> Double { (picture - origin) / scale }
}

/// The position of the input tensor in the picture as it is displayed: the inverse of what was done to the picture.
package struct PictureMap: Sendable, Hashable {
    package let x: AxisMap, y: AxisMap

    /// Both axes.
    package init(x: AxisMap, y: AxisMap) { (self.x, self.y) = (x, y) }

    /// A rectangle in pixels of the picture, from its top left corner.
    package struct Rectangle: Sendable, Hashable {
        package let x: Double, y: Double, width: Double, height: Double

        /// A rectangle.
        package init(x: Double, y: Double, width: Double, height: Double) {
            (self.x, self.y, self.width, self.height) = (x, y, width, height)
        }
    }

    /// A box in the picture, cut off at its edges; nil if nothing of it is in the picture.
    package func rectangle(_ box: Box) -> Rectangle? {
        let left = x.picture(box.left), right = x.picture(box.right)
        let top = y.picture(box.top), bottom = y.picture(box.bottom)
        guard right > left, bottom > top else { return nil }
        return Rectangle(x: left, y: top, width: right - left, height: bottom - top)
    }
}
