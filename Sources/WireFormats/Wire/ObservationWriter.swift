internal import HTTPWire
package import ImagePipeline
package import Inference
package import JSON
package import Observations

/// Writes the observations of a picture: the members that the daemon and the commands share (docs/http-api.md, "Detect,
/// segment, keypoints, embed" and "Read").
package struct ObservationWriter {
    /// The form of masks; nil for the task's default.
    var mask: MaskForm?
    var encoding = Encoding.float
    /// The classes of a mask to list; nil for all.
    var classes: [String]?
    /// The maximum number of classes of a mask to list, those with the largest areas; nil for no limit.
    var maximum: Int?
    /// True if lines of text list their characters.
    var characters = false
    let isCancelled: () -> Bool

    /// The forms of a mask: a picture of class numbers, COCO's run lengths, nothing.
    package enum MaskForm: String, CaseIterable, Sendable {
        case png, rle, none
    }

    /// The forms of an embedding: numbers, or base64 of 32-bit floats.
    package enum Encoding: String, CaseIterable, Sendable {
        case float, base64
    }

    package init(
        mask: MaskForm?, encoding: Encoding, classes: [String]?, maximum: Int?, characters: Bool = false,
        isCancelled: @escaping () -> Bool
    ) {
        self.mask = mask
        self.encoding = encoding
        self.classes = classes
        self.maximum = maximum
        self.characters = characters
        self.isCancelled = isCancelled
    }

    /// A writer for a command, with the default forms.
    package init(classes: [String]?, maximum: Int?, characters: Bool = false) {
        self.classes = classes
        self.maximum = maximum
        self.characters = characters
        isCancelled = { false }
    }

    /// The maximum number of runs in one answer's masks.
    private static let maximumRuns = 2_000_000

    /// Writes the content, `image` and `timing_ms` as members of the open object.
    /// - Throws: `cancelled`, `outOfMemory`.
    package func write(
        _ result: ObservationResult, total: UInt64, to writer: inout JSONWriter
    ) throws(ImageError) {
        try writeContent(of: result, to: &writer)
        if let skipped = result.pipeline?.skipped, skipped > 0 { writer.member("skipped", skipped) }
        writer.key("image")
        writer.object { writer in
            ClassificationWriter.write(result.image, to: &writer)
            writer.key("displayed")
            writer.object { writer in
                writer.member("width", result.displayed.width)
                writer.member("height", result.displayed.height)
            }
            if let seen = result.seen {
                writer.key("seen")
                Self.write(seen, to: &writer)
            }
        }
        writer.key("timing_ms")
        ClassificationWriter.write(result.times, total: total, to: &writer)
    }

    /// Writes the finds, as members of the open object.
    private func writeContent(of result: ObservationResult, to writer: inout JSONWriter) throws(ImageError) {
        switch result.content {
        case .detections(let found):
            writer.key("detections")
            var failure: ImageError?
            writer.array { writer in
                for one in found where failure == nil {
                    do throws(ImageError) { try write(one, to: &writer) } catch { failure = error }
                }
            }
            if let failure { throw failure }
        case .mask(let mask, let labels): try write(mask, labels: labels, to: &writer)
        case .keypoints(let points):
            writer.key("keypoints")
            Self.write(points, to: &writer)
        case .embedding(let values): Self.write(values, encoding, to: &writer)
        case .text(let page): try write(page, to: &writer)
        }
    }

    /// Writes the members `embedding` and `dimension` of the open object.
    static func write(_ values: [Float], _ encoding: Encoding, to writer: inout JSONWriter) {
        writer.key("embedding")
        switch encoding {
        case .float: writer.array { writer in for value in values { writer.number(value) } }
        case .base64:
            writer.object { writer in
                writer.key("b64")
                values.withUnsafeBytes { writer.base64($0) }
            }
        }
        writer.member("dimension", values.count)
    }

    // MARK: Text

    /// Writes the text and its lines, as members of the open object.
    private func write(_ page: PageText, to writer: inout JSONWriter) throws(ImageError) {
        writer.member("text", page.text)
        writer.key("lines")
        var isStopped = false
        writer.array { writer in
            for (number, line) in page.lines.enumerated() where !isStopped {
                if number & 63 == 0, isCancelled() { isStopped = true }
                write(line, to: &writer)
            }
        }
        if isStopped { throw .cancelled }
        if page.skipped > 0 { writer.member("skipped", page.skipped) }
    }

    private func write(_ line: TextLine, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("text", line.text)
            writer.member("confidence", line.confidence)
            Self.write(line.corners, to: &writer)
            writer.key("box")
            Self.write(Self.box(around: line.corners), to: &writer)
            guard characters else { return }
            writer.key("characters")
            writer.array { writer in
                for (index, character) in line.characters.enumerated() {
                    writer.object { writer in
                        writer.member("text", character.text)
                        writer.member("confidence", character.confidence)
                        Self.write(line.corners(ofCharacter: index), to: &writer)
                    }
                }
            }
        }
    }

    /// Writes corners as the member `points` of the open object.
    private static func write(_ corners: [PlanePoint], to writer: inout JSONWriter) {
        writer.key("points")
        writer.array { writer in
            for corner in corners {
                writer.object { writer in
                    writer.member("x", thousandths: corner.x)
                    writer.member("y", thousandths: corner.y)
                }
            }
        }
    }

    /// The upright box around corners.
    private static func box(around corners: [PlanePoint]) -> PictureMap.Rectangle {
        let x = corners.map(\.x), y = corners.map(\.y)
        let (left, top) = (x.min() ?? 0, y.min() ?? 0)
        return PictureMap.Rectangle(x: left, y: top, width: (x.max() ?? left) - left, height: (y.max() ?? top) - top)
    }

    // MARK: Boxes and points

    private func write(_ found: ObservationResult.Found, to writer: inout JSONWriter) throws(ImageError) {
        var failure: ImageError?
        writer.object { writer in
            writer.member("index", found.index)
            writer.member("label", found.label)
            writer.member("confidence", found.confidence)
            writer.key("box")
            Self.write(found.box, to: &writer)
            if let turned = found.turned { Self.write(turned, to: &writer) }
            if let points = found.keypoints {
                writer.key("keypoints")
                Self.write(points, to: &writer)
            }
            if let runs = found.mask, mask != MaskForm.none {
                writer.key("mask")
                Self.write(runs, to: &writer)
            }
            for stage in found.stages {
                writer.key(stage.name)
                do throws(ImageError) { try write(stage.outcome, to: &writer) } catch { failure = error }
            }
        }
        if let failure { throw failure }
    }

    /// Writes the answer of a pipeline's stage, or its error.
    private func write(
        _ outcome: ObservationResult.StageAnswer.Outcome, to writer: inout JSONWriter
    ) throws(ImageError) {
        var failure: ImageError?
        writer.object { writer in
            switch outcome {
            case .classes(let result): ClassificationWriter.writeClasses(of: result, to: &writer)
            case .observed(let result, let box):
                // The request's parameters apply to its own answer, not to those of stages.
                let own = ObservationWriter(
                    mask: nil, encoding: .float, classes: nil, maximum: nil, isCancelled: isCancelled)
                do throws(ImageError) { try own.writeContent(of: result, to: &writer) } catch { failure = error }
                if case .mask = result.content {
                    // The mask covers the crop only, so write the place of the crop in the picture.
                    writer.key("crop")
                    Self.write(box, to: &writer)
                }
            case .failed(let reason): Self.write(ServiceError(reason), to: &writer)
            case .absent(let reason): Self.write(ServiceError(reason), to: &writer)
            }
        }
        if let failure { throw failure }
    }

    /// Writes an error in the place of a stage's answer, as members of the open object.
    private static func write(_ error: ServiceError, to writer: inout JSONWriter) {
        writer.member("error", error.message)
        writer.member("code", error.code.rawValue)
    }

    /// Writes `null` for a point that was not found.
    private static func write(_ points: [ObservationResult.Point], to writer: inout JSONWriter) {
        writer.array { writer in
            for point in points {
                guard let place = point.place else {
                    writer.null()
                    continue
                }
                writer.object { writer in
                    writer.member("name", point.name)
                    writer.member("x", thousandths: place.x)
                    writer.member("y", thousandths: place.y)
                    if let depth = point.depth { writer.member("z", thousandths: depth) }
                    if let confidence = point.confidence {
                        writer.member("confidence", confidence)
                    }
                }
            }
        }
    }

    /// Writes the corners and the angle as members of the open object.
    private static func write(_ turned: TurnedRectangle, to writer: inout JSONWriter) {
        write(turned.corners.all, to: &writer)
        writer.member("angle", Float(turned.angle))
    }

    private static func write(_ box: PictureMap.Rectangle, to writer: inout JSONWriter) {
        writer.object { writer in
            // Round the right and bottom sides too, so that a box at the picture's edge ends there.
            writer.member("x", thousandths: box.x)
            writer.member("y", thousandths: box.y)
            writer.member("width", thousandths: rounded(box.x + box.width) - rounded(box.x))
            writer.member("height", thousandths: rounded(box.y + box.height) - rounded(box.y))
        }
    }

    /// Rounds to 1/1000 pixel, which is more than any model's precision.
    private static func rounded(_ value: Double) -> Double { (value * 1_000).rounded() / 1_000 }

    // MARK: Masks

    private static func write(_ runs: RunLengths, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("size")
            writer.array { writer in
                writer.integer(runs.height)
                writer.integer(runs.width)
            }
            writer.member("counts", runs.compressed)
        }
    }

    /// A class in a mask, and the number of its pixels.
    package struct Segment {
        package let index: Int
        package let label: String
        package let area: Int
    }

    /// The classes of a mask to list, the largest area first.
    package func segments(of areas: [Int], labels: [String]?) -> [Segment] {
        var present = areas.indices.filter { areas[$0] > 0 }.map { index in
            let label = labels.flatMap { index < $0.count ? $0[index] : nil }
            return Segment(index: index, label: label ?? "\(index)", area: areas[index])
        }
        if let classes { present = present.filter { classes.contains($0.label) || classes.contains("\($0.index)") } }
        present.sort { ($1.area, $0.index) < ($0.area, $1.index) }
        return maximum.map { Array(present.prefix($0)) } ?? present
    }

    private func write(
        _ mask: PictureMask, labels: [String]?, to writer: inout JSONWriter
    ) throws(ImageError) {
        let areas: [Int]
        do throws(ObservationError) {
            areas = try mask.areas(isCancelled: isCancelled)
        } catch {
            throw .cancelled
        }
        let segments = segments(of: areas, labels: labels)
        var runs: [Int: RunLengths]?
        if self.mask == .rle {
            do throws(ObservationError) {
                runs = try mask.runLengths(
                    of: Set(segments.map(\.index)), maximum: Self.maximumRuns, isCancelled: isCancelled)
            } catch {
                throw .cancelled
            }
        }
        writer.key("segments")
        writer.array { writer in
            for segment in segments {
                writer.object { writer in
                    writer.member("index", segment.index)
                    writer.member("label", segment.label)
                    writer.member("area", segment.area)
                    if let runs = runs?[segment.index] {
                        writer.key("mask")
                        Self.write(runs, to: &writer)
                    }
                }
            }
        }
        guard self.mask ?? .png == .png else { return }
        let png = try MaskPicture.png(mask, palette: false, isCancelled: isCancelled)
        writer.key("mask")
        writer.object { writer in
            writer.key("b64")
            png.withUnsafeBytes { writer.base64($0) }
        }
    }
}

/// Encodes masks as pictures.
package enum MaskPicture {
    /// The class numbers as a PNG; with the palette, in colours for people (8 bits only: PNG has no larger palettes).
    package static func png(_ mask: PictureMask, palette: Bool, isCancelled: () -> Bool) throws(ImageError) -> [UInt8] {
        try PNGEncoder.encode(
            width: mask.width, height: mask.height, bits: 8 * mask.bytes,
            palette: palette && mask.bytes == 1 ? colors : nil
        ) { row, line in
            if row & 63 == 0, isCancelled() { return false }
            mask.write(row: row, into: line)
            return true
        }
    }

    /// PASCAL VOC's colours: the bits of a number, spread over the upper bits of red, green and blue.
    package static let colors: [UInt8] = (0..<256).flatMap { number -> [UInt8] in
        var color: [UInt8] = [0, 0, 0]
        for bit in 0..<8 where number & (1 << bit) != 0 { color[bit % 3] |= 0x80 >> UInt8(bit / 3) }
        return color
    }
}
