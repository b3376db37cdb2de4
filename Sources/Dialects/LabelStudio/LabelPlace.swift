internal import Glibc
internal import ImagePipeline
internal import JSON
internal import Observations

/// A box in Label Studio's form: its top left corner before turning and its sides in percent of the picture, and the
/// angle in degrees, clockwise around that corner.
struct LabelPlace: Sendable {
    private let x: Double, y: Double, width: Double, height: Double, rotation: Double
    private let size: ImageSize

    init(_ box: PictureMap.Rectangle, in size: ImageSize) {
        (x, y, width, height, rotation) = (box.x, box.y, box.width, box.height, 0)
        self.size = size
    }

    init(_ turned: TurnedRectangle, in size: ImageSize) {
        self.init(corners: turned.corners.all, in: size)
    }

    /// - Parameter corners: clockwise as seen, from the one that is top left before turning.
    init(corners: [PlanePoint], in size: ImageSize) {
        self.size = size
        guard corners.count == 4 else {
            (x, y, width, height, rotation) = (0, 0, 0, 0, 0)
            return
        }
        let (a, b, c) = (corners[0], corners[1], corners[2])
        (x, y) = (a.x, a.y)
        (width, height) = (PlanePoint.distance(a, b), PlanePoint.distance(b, c))
        let angle = atan2(b.y - a.y, b.x - a.x) * 180 / .pi
        rotation = angle < 0 ? angle + 360 : angle
    }

    /// Writes it as members of the open object.
    func write(to writer: inout JSONWriter) {
        Self.write("x", x, of: size.width, to: &writer)
        Self.write("y", y, of: size.height, to: &writer)
        Self.write("width", width, of: size.width, to: &writer)
        Self.write("height", height, of: size.height, to: &writer)
        writer.member("rotation", Self.rounded(rotation))
    }

    /// Writes pixels in percent.
    static func write(_ name: String, _ pixels: Double, of side: Int, to writer: inout JSONWriter) {
        writer.member(name, rounded(100 * pixels / Double(max(side, 1))))
    }

    /// Rounds to a millionth, far below a pixel.
    private static func rounded(_ value: Double) -> Double { (value * 1_000_000).rounded() / 1_000_000 }
}
