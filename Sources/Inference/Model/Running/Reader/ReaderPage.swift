package import ImagePipeline
package import Observations

/// The size of the picture that regions of text are cut out of, as RapidOCR scales it, and the mapping of its points to
/// the displayed picture.
package struct PageGeometry: Sendable, Hashable {
    /// The size of the displayed picture.
    package let picture: ImageSize
    /// The size to which it is scaled.
    package let scaled: ImageSize
    /// The number of black rows above it, and of those below it.
    package let margin: Int

    /// The length below which sides are enlarged, and the height of pictures that get margins.
    private static let shortest = 30
    /// The ratio of width and height above which a picture gets margins.
    private static let widest = 8
    private static let longest = 16_384

    /// - Parameters:
    ///   - maximumSide: the maximum of the longer side.
    ///   - maximumPixels: the maximum of the area with margins, which the reference does not have.
    package init(_ picture: ImageSize, maximumSide: Int, maximumPixels: Int) {
        self.picture = picture
        var size = picture
        func scale(by factor: Double) {
            func side(_ length: Int) -> Int {
                let steps = ((Double(length) * factor).rounded(.towardZero) / 32).rounded(.toNearestOrEven)
                return 32 * max(1, Int(steps))
            }
            size = ImageSize(width: side(size.width), height: side(size.height))
        }
        if max(size.width, size.height) > maximumSide {
            scale(by: Double(maximumSide) / Double(max(size.width, size.height)))
        }
        if min(size.width, size.height) < Self.shortest {
            scale(
                by: min(
                    Double(Self.shortest) / Double(max(1, min(size.width, size.height))),
                    Double(Self.longest) / Double(max(size.width, size.height))))
        }
        scaled = size
        guard size.height <= Self.shortest || size.width > Self.widest * size.height else {
            margin = 0
            return
        }
        let wanted = abs(2 * max(size.width / Self.widest, Self.shortest) - size.height) / 2
        margin = max(0, min(wanted, (maximumPixels / max(1, size.width) - size.height) / 2))
    }

    /// The size with margins.
    package var page: ImageSize { ImageSize(width: scaled.width, height: scaled.height + 2 * margin) }

    /// True if the page is the picture itself.
    var isPicture: Bool { scaled == picture && margin == 0 }

    /// Converts a point of the page to one of the picture, cut to it.
    package func picture(_ point: PlanePoint) -> PlanePoint {
        func place(_ value: Double, _ scaled: Int, _ length: Int) -> Double {
            min(max(value * Double(length) / Double(max(1, scaled)), 0), Double(length))
        }
        return PlanePoint(
            x: place(point.x, scaled.width, picture.width),
            y: place(point.y - Double(margin), scaled.height, picture.height))
    }
}

/// The picture that regions of text are cut out of.
struct ReaderPage: Sendable {
    let pixels: PixelImage
    let geometry: PageGeometry

    /// - Parameters:
    ///   - pixels: upright; a JPEG's may be decoded at a reduced size.
    ///   - window: the part of the pixels that is the picture; nil for all of them.
    ///   - limits: those of pictures.
    init(
        _ pixels: PixelImage, window: PictureWindow?, _ geometry: PageGeometry, limits: ImageLimits,
        isCancelled: () -> Bool
    ) throws(ImageError) {
        self.geometry = geometry
        let size = ImageSize(width: pixels.info.width, height: pixels.info.height)
        guard window != nil || pixels.hasOpacity || size != geometry.scaled || geometry.margin > 0 else {
            self.pixels = pixels
            return
        }
        // Dark text on white, light text on black.
        let isLight = pixels.visibleLuminance(window).map { $0 >= 128 } ?? false
        self.pixels = try pixels.scaled(
            window, width: geometry.scaled.width, height: geometry.scaled.height, margin: geometry.margin,
            over: isLight ? .black : .white, limits: limits, isCancelled: isCancelled)
    }

    /// A region of text with corners at whole pixels of the page.
    struct Region: Sendable {
        /// Clockwise from the top left corner.
        let corners: [PlanePoint]
        let score: Float
        /// The size of the part that is cut out, before it is turned.
        let width: Int, height: Int

        /// Nil for a region that is too small.
        init?(_ found: TextLine, in page: ImageSize) {
            func cut(_ value: Double, _ length: Int) -> Double {
                min(max(value.rounded(.toNearestOrEven), 0), Double(max(0, length - 1)))
            }
            let corners = found.corners.map { PlanePoint(x: cut($0.x, page.width), y: cut($0.y, page.height)) }
            guard corners.count == 4 else { return nil }
            func side(_ a: Int, _ b: Int) -> Double { PlanePoint.distance(corners[a], corners[b]) }
            guard Int(side(0, 1)) > Self.shortest, Int(side(0, 3)) > Self.shortest else { return nil }
            self.corners = corners
            score = found.confidence
            width = Int(max(side(0, 1), side(3, 2)))
            height = Int(max(side(0, 3), side(1, 2)))
        }

        private static let shortest = 3

        /// True for text that runs downwards or upwards.
        var isTall: Bool { Double(height) >= 1.5 * Double(width) }

        /// The ratio of the line's length and height.
        var ratio: Double {
            isTall ? Double(height) / Double(max(1, width)) : Double(width) / Double(max(1, height))
        }

        /// The corners from the one where reading begins.
        /// - Parameter quarterTurns: the number of turns counterclockwise that make the text upright.
        func corners(_ quarterTurns: Int) -> [PlanePoint] {
            (0..<4).map { corners[($0 + quarterTurns) % 4] }
        }
    }

    /// The upright picture of a region.
    func crop(_ region: Region, quarterTurns: Int) throws(ImageError) -> EncodedImage {
        let pixels = try pixels.straightened(
            region.corners.map { PicturePoint(x: $0.x, y: $0.y) }, width: region.width, height: region.height,
            quarterTurns: quarterTurns, maxPixels: 2 * ReaderDescription.maximumPixels)
        return EncodedImage(pixels, time: UInt64(clamping: 2 * region.width * region.height))
    }
}
