/// The mapping of one axis of the input tensor to the displayed picture.
package struct AxisMap: Sendable, Hashable {
    /// Pixels of the picture for each pixel of the tensor, and the picture's coordinate at the tensor's 0.
    package let scale: Double, origin: Double
    /// The picture's length in pixels.
    package let length: Int
    /// The range of the picture that the tensor covers.
    package let seen: ClosedRange<Double>

    /// `scale` must be greater than 0.
    package init(scale: Double, origin: Double, length: Int, seen: ClosedRange<Double>) {
        (self.scale, self.origin, self.length, self.seen) = (scale, origin, length, seen)
    }

    /// Converts a coordinate of the tensor to one of the picture, clamped to the picture.
    package func picture(_ tensor: Float) -> Double {
        cut(origin + Double(tensor) * scale)
    }

    /// Clamps a coordinate to the picture.
    package func cut(_ place: Double) -> Double { min(max(place, 0), Double(length)) }

    /// Converts a coordinate of the picture to one of the tensor.
    package func tensor(_ picture: Double) -> Double { (picture - origin) / scale }
}

/// The mapping of the input tensor to the displayed picture: the inverse of the preprocessing.
package struct PictureMap: Sendable, Hashable {
    package let x: AxisMap, y: AxisMap

    package init(x: AxisMap, y: AxisMap) { (self.x, self.y) = (x, y) }

    /// A rectangle in pixels of the picture, from its top left corner.
    package struct Rectangle: Sendable, Hashable {
        package let x: Double, y: Double, width: Double, height: Double

        package init(x: Double, y: Double, width: Double, height: Double) {
            (self.x, self.y, self.width, self.height) = (x, y, width, height)
        }
    }

    /// Converts a box to a rectangle of the picture, clipped to the picture; nil if it is outside.
    package func rectangle(_ box: Box) -> Rectangle? {
        let left = x.picture(box.left), right = x.picture(box.right)
        let top = y.picture(box.top), bottom = y.picture(box.bottom)
        guard right > left, bottom > top else { return nil }
        return Rectangle(x: left, y: top, width: right - left, height: bottom - top)
    }
}
