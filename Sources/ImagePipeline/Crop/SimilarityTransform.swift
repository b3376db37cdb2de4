/// A point of a picture, in pixels.
public struct PicturePoint: Sendable, Hashable {
    /// The distance from the left.
    public var x: Double
    /// The distance from the top.
    public var y: Double

    /// Creates a point.
    public init(x: Double, y: Double) {
        self.x = x
        self.y = y
    }
}

/// A rotation, a uniform scale and a translation: `x' = a x - b y + tx`, `y' = b x + a y + ty`.
public struct SimilarityTransform: Sendable, Hashable {
    /// The scale times the cosine of the angle.
    public let a: Double
    /// The scale times the sine of the angle.
    public let b: Double
    /// The horizontal translation.
    public let tx: Double
    /// The vertical translation.
    public let ty: Double

    /// The transform that maps points closest to others, by the sum of squared distances: Umeyama's without reflection,
    /// as `skimage.transform.SimilarityTransform` and InsightFace estimate it.
    ///
    /// Fails if the numbers of points differ, if fewer than two points are distinct, or if a result is not finite.
    public init?(from points: [PicturePoint], to others: [PicturePoint]) {
        guard points.count == others.count, points.count > 1 else { return nil }
        let count = Double(points.count)
        func mean(_ points: [PicturePoint]) -> PicturePoint {
            PicturePoint(x: points.reduce(0) { $0 + $1.x } / count, y: points.reduce(0) { $0 + $1.y } / count)
        }
        let from = mean(points), to = mean(others)
        var along = 0.0, across = 0.0, spread = 0.0
        for (point, other) in zip(points, others) {
            let (x, y) = (point.x - from.x, point.y - from.y)
            let (u, v) = (other.x - to.x, other.y - to.y)
            along += x * u + y * v
            across += x * v - y * u
            spread += x * x + y * y
        }
        guard spread > 0 else { return nil }
        a = along / spread
        b = across / spread
        tx = to.x - (a * from.x - b * from.y)
        ty = to.y - (b * from.x + a * from.y)
        guard a.isFinite, b.isFinite, tx.isFinite, ty.isFinite, a != 0 || b != 0 else { return nil }
    }

    /// The point that the transform maps to `point`.
    public func source(_ point: PicturePoint) -> PicturePoint {
        let (x, y) = (point.x - tx, point.y - ty), scale = a * a + b * b
        return PicturePoint(x: (a * x + b * y) / scale, y: (a * y - b * x) / scale)
    }

    /// The eyes, the nose and the corners of the mouth in an aligned face of 112 by 112 pixels: the points of
    /// InsightFace's `face_align.py`, in the order in which detectors return them (left and right as seen).
    public static let fivePoints = [
        PicturePoint(x: 38.2946, y: 51.6963), PicturePoint(x: 73.5318, y: 51.5014),
        PicturePoint(x: 56.0252, y: 71.7366),
        PicturePoint(x: 41.5493, y: 92.3655), PicturePoint(x: 70.7299, y: 92.2041),
    ]
}
