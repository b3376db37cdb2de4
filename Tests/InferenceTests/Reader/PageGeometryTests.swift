import ImagePipeline
import Inference
internal import Observations
import Testing

/// The size of the picture that regions of text are cut out of.
@Suite struct PageGeometryTests {
    /// Width and height of a picture, of the page without margins, and the rows of a margin, by RapidOCR 3.10.0
    /// (`resize_image_within_bounds` and `apply_vertical_padding` with its default settings).
    private static let reference = [
        (640, 480, 640, 480, 0), (1280, 720, 1280, 720, 0), (3000, 2000, 1984, 1344, 0), (2000, 300, 2000, 300, 0),
        (400, 25, 480, 32, 44), (1000, 40, 1000, 40, 105), (720, 1280, 720, 1280, 0), (4032, 3024, 1984, 1504, 0),
        (100, 100, 100, 100, 0), (2500, 200, 1984, 160, 168), (2001, 1000, 1984, 992, 0), (31, 900, 31, 900, 0),
    ]

    private static func geometry(_ width: Int, _ height: Int) -> PageGeometry {
        PageGeometry(ImageSize(width: width, height: height), maximumSide: 2_000, maximumPixels: 4 << 20)
    }

    @Test("pictures are scaled and padded as in the reference", arguments: reference)
    func asInTheReference(_ width: Int, _ height: Int, _ scaledWidth: Int, _ scaledHeight: Int, _ margin: Int) {
        let page = Self.geometry(width, height)
        #expect(page.scaled == ImageSize(width: scaledWidth, height: scaledHeight))
        #expect(page.margin == margin)
        #expect(page.page.height == scaledHeight + 2 * margin)
    }

    @Test(
        "the page of any picture has at most four megapixels",
        arguments: [
            (300, 1), (1, 300), (65_535, 1), (1, 65_535), (2_000, 29), (29, 2_000), (65_535, 65_535), (1, 1),
            (1_999, 2),
        ])
    func theAreaIsBounded(_ width: Int, _ height: Int) {
        let page = Self.geometry(width, height)
        #expect(page.page.width >= 1 && page.page.height >= 1)
        #expect(page.page.width * page.page.height <= 4 << 20, "\(page)")
    }

    @Test("points of the page lie at their places in the picture, cut to it")
    func pointsGoBack() {
        let page = Self.geometry(400, 25)
        let middle = page.picture(PlanePoint(x: 240, y: 60))
        #expect(middle == PlanePoint(x: 200, y: 12.5))
        #expect(page.picture(PlanePoint(x: -5, y: 0)) == PlanePoint(x: 0, y: 0))
        #expect(page.picture(PlanePoint(x: 600, y: 200)) == PlanePoint(x: 400, y: 25))
    }
}
