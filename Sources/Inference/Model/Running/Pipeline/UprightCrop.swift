internal import ImagePipeline
internal import Observations
#if canImport(Glibc)
    internal import Glibc
#else
    internal import Musl
#endif

/// The crop that shows a turned box upright: its width lies along the rows, one pixel of the picture for each pixel.
struct UprightCrop {
    let size: ImageSize
    /// The transform from the picture to the crop, between centers of pixels.
    let transform: SimilarityTransform

    /// The longest side in pixels.
    static let longest = 16_384

    /// - Parameters:
    ///   - margin: the multiple of the width and the height by which each side is moved outwards.
    ///   - isSquare: whether the shorter side is then extended to the length of the longer one.
    /// - Returns: nil for a box without area, or with a side of more than ``longest`` pixels.
    init?(_ box: TurnedBox, margin: Double, isSquare: Bool) {
        var (width, height) = (abs(box.width) * (1 + 2 * margin), abs(box.height) * (1 + 2 * margin))
        guard width > 0, height > 0, width <= Double(Self.longest), height <= Double(Self.longest) else { return nil }
        if isSquare { (width, height) = (max(width, height), max(width, height)) }
        let sides = (width: max(1, width.rounded()), height: max(1, height.rounded()))
        size = ImageSize(width: Int(sides.width), height: Int(sides.height))
        // The middle of the upper and of the lower edge stay where they are, and with them the angle and the scale.
        let seen = TurnedBox(x: box.x, y: box.y, width: sides.width, height: sides.height, angle: box.angle).corners
        guard
            let transform = SimilarityTransform(
                from: seen.all.map { PicturePoint(x: $0.x - 0.5, y: $0.y - 0.5) },
                to: [(0, 0), (sides.width, 0), (sides.width, sides.height), (0, sides.height)].map {
                    PicturePoint(x: $0 - 0.5, y: $1 - 0.5)
                })
        else { return nil }
        self.transform = transform
    }
}

extension SimilarityTransform {
    /// The angle by which it turns, in radians, clockwise as seen.
    var angle: Double { atan2(b, a) }

    /// The point that it maps to `point`; both are positions between the edges of the picture, not centers of pixels.
    func source(edge point: PlanePoint) -> PlanePoint {
        let source = source(PicturePoint(x: point.x - 0.5, y: point.y - 0.5))
        return PlanePoint(x: source.x + 0.5, y: source.y + 0.5)
    }
}
