internal import ImagePipeline
internal import Observations

/// The picture that a stage gets for a detection: a part of the picture's pixels, an aligned face, or a turned box that
/// was made upright.
struct FindCrop: Sendable {
    let image: EncodedImage
    /// The part of the picture; nil for an aligned crop.
    let place: PicturePlace?
    /// The transform from the picture to an aligned crop.
    let alignment: SimilarityTransform?
    /// The visible part, in pixels of the picture.
    let box: PictureMap.Rectangle

    /// The approximate nanoseconds for scaling one pixel.
    private static let timeOfPixel = 2.0

    /// - Parameter model: the model that gets the picture.
    /// - Throws: if the detection has no such part.
    init(
        _ stage: PipelineDescription.Stage, for model: Model, of found: ObservationResult.Found,
        in picture: HeldPicture, maxPixels: Int
    ) throws(InferenceError) {
        let crop = stage.crop
        do throws(ImageError) {
            if let (transform, size) = try Self.alignment(crop, for: model, of: found) {
                let aligned = try picture.pixels.aligned(
                    by: transform, width: size.width, height: size.height, maxPixels: maxPixels)
                image = EncodedImage(aligned, time: UInt64(Double(size.width * size.height) * Self.timeOfPixel))
                (place, alignment) = (nil, transform)
                box = Self.seen(by: transform, size)
                return
            }
            let cropBox = Self.roundedBox(found.box).grown(by: crop.margin, isSquare: crop.isSquare)
            let window = try PictureWindow(cropBox, maxPixels: maxPixels)
            let time = UInt64(Double(window.width * window.height) * Self.timeOfPixel)
            image =
                crop.isMasked
                ? try Self.masked(window, by: found.mask, in: picture.pixels, maxPixels: maxPixels, time: time)
                : EncodedImage(picture.pixels, window: window, time: time)
            (place, alignment) = (PicturePlace(window: window, size: picture.size), nil)
            box = PictureMap.Rectangle(x: cropBox.x, y: cropBox.y, width: cropBox.width, height: cropBox.height)
        } catch {
            if case .corrupt(let reason) = error { throw .invalidInput(name: stage.name, reason: reason) }
            throw .image(error, input: nil)
        }
    }

    /// Rounds a box to 1/1000 pixel as in the JSON answer, so that a client that crops by the answer gets the same
    /// pixels.
    private static func roundedBox(_ box: PictureMap.Rectangle) -> PictureBox {
        func rounded(_ value: Double) -> Double { (value * 1_000).rounded() / 1_000 }
        let x = rounded(box.x), y = rounded(box.y)
        return PictureBox(x: x, y: y, width: rounded(box.x + box.width) - x, height: rounded(box.y + box.height) - y)
    }

    /// The transform to an aligned crop, and its size; nil for a part of the picture.
    private static func alignment(
        _ crop: PipelineDescription.Crop, for model: Model, of found: ObservationResult.Found
    ) throws(ImageError) -> (SimilarityTransform, ImageSize)? {
        switch crop.alignment {
        case nil: return nil
        case .fivePoints:
            let side = crop.side ?? model.squareSide ?? 112
            guard let transform = transform(found, side: side) else { throw .corrupt(noPoints) }
            return (transform, ImageSize(width: side, height: side))
        case .box:
            guard let turned = found.turned else { throw .corrupt("the find has no turned box") }
            guard let upright = UprightCrop(turned.box, margin: crop.margin, isSquare: crop.isSquare) else {
                throw .corrupt(
                    "the find's box is no crop: it has no area, or a side of more than \(UprightCrop.longest) pixels")
            }
            return (upright.transform, upright.size)
        }
    }

    private static let noPoints = "the find cannot be aligned: not all of its five points were found"

    /// The transform from a detection's five points to those of a frontal face; scales the template, which has a side
    /// of 112 pixels.
    private static func transform(_ found: ObservationResult.Found, side: Int) -> SimilarityTransform? {
        let points = (found.keypoints ?? []).compactMap { point in
            point.place.map { PicturePoint(x: $0.x, y: $0.y) }
        }
        let scale = Double(side) / 112
        return SimilarityTransform(
            from: points, to: SimilarityTransform.fivePoints.map { PicturePoint(x: $0.x * scale, y: $0.y * scale) })
    }

    /// The pixels of a window; those outside the mask are black.
    private static func masked(
        _ window: PictureWindow, by mask: RunLengths?, in pixels: PixelImage, maxPixels: Int, time: UInt64
    ) throws(ImageError) -> EncodedImage {
        guard let mask else { throw .corrupt("the find has no mask: the masks of this picture are too large") }
        let x = max(0, window.x)..<max(max(0, window.x), min(pixels.info.width, window.x + window.width))
        let y = max(0, window.y)..<max(max(0, window.y), min(pixels.info.height, window.y + window.height))
        let part = try pixels.masked(x: x, y: y) { body in mask.forEachRun(body) }
        let moved = PictureBox(
            x: Double(window.x - x.lowerBound) + window.box.x, y: Double(window.y - y.lowerBound) + window.box.y,
            width: window.box.width, height: window.box.height)
        return EncodedImage(part, window: try PictureWindow(moved, maxPixels: maxPixels), time: time)
    }

    // MARK: Back to the picture

    /// The answer of a stage with its boxes and points in coordinates of the picture; answers for parts of the picture
    /// have these already.
    func placed(_ result: ObservationResult) -> ObservationResult {
        guard let alignment else { return result }
        var result = result
        func place(_ point: ObservationResult.Point) -> ObservationResult.Point {
            let place = point.place.map { alignment.source(PicturePoint(x: $0.x - 0.5, y: $0.y - 0.5)) }
            return ObservationResult.Point(
                name: point.name, place: place.map { ($0.x + 0.5, $0.y + 0.5) }, depth: point.depth,
                confidence: point.confidence)
        }
        switch result.content {
        case .detections(let found):
            result.content = .detections(
                found.map { one in
                    // A box in a crop that was turned is turned in the picture.
                    let turned = one.turned?.moved(turn: -alignment.angle) { alignment.source(edge: $0) }
                    return ObservationResult.Found(
                        index: one.index, label: one.label, confidence: one.confidence,
                        box: turned.map { $0.around() } ?? Self.around(one.box, alignment),
                        turned: turned, keypoints: one.keypoints?.map(place), mask: nil)
                })
        case .keypoints(let points): result.content = .keypoints(points.map(place))
        case .text(let page):
            result.content = .text(
                page.moved { point in
                    let place = alignment.source(PicturePoint(x: point.x - 0.5, y: point.y - 0.5))
                    return PlanePoint(x: place.x + 0.5, y: place.y + 0.5)
                })
        case .mask, .embedding: break
        }
        return result
    }

    /// The rectangle of the picture that contains an aligned crop, which may be rotated in it.
    private static func seen(by transform: SimilarityTransform, _ size: ImageSize) -> PictureMap.Rectangle {
        around(
            PictureMap.Rectangle(x: 0, y: 0, width: Double(size.width), height: Double(size.height)), transform)
    }

    /// The smallest rectangle of the picture that contains a rectangle of the aligned crop. The transform's points are
    /// centers of pixels.
    private static func around(
        _ box: PictureMap.Rectangle, _ transform: SimilarityTransform
    ) -> PictureMap.Rectangle {
        let corners = [(0.0, 0.0), (box.width, 0), (0, box.height), (box.width, box.height)].map { x, y in
            transform.source(PicturePoint(x: box.x + x - 0.5, y: box.y + y - 0.5))
        }
        let x = corners.map { $0.x + 0.5 }, y = corners.map { $0.y + 0.5 }
        let left = x.min() ?? 0, top = y.min() ?? 0
        return PictureMap.Rectangle(x: left, y: top, width: (x.max() ?? left) - left, height: (y.max() ?? top) - top)
    }
}

extension Model {
    /// The side of its input if that is a square; otherwise nil.
    fileprivate var squareSide: Int? {
        imageSpec.flatMap { spec in
            let size = spec.openSize?.usual ?? ImageSize(width: spec.width, height: spec.height)
            return size.width == size.height ? size.width : nil
        }
    }
}

extension RunLengths {
    /// Calls its argument with each run of pixels in the mask: a column and a range of its rows, in order of columns
    /// and rows.
    fileprivate func forEachRun(_ body: (_ column: Int, _ rows: Range<Int>) -> Void) {
        guard height > 0 else { return }
        var place = 0
        for (index, count) in counts.enumerated() {
            let end = min(place + Int(count), width * height)
            defer { place = end }
            guard index & 1 == 1 else { continue }
            var start = place
            while start < end {
                let column = start / height, last = min(end, (column + 1) * height)
                body(column, start - column * height..<last - column * height)
                start = last
            }
        }
    }
}
