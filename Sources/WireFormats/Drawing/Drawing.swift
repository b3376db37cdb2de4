package import ImagePipeline
package import Inference
import Observations
import SystemSupport

/// A picture on which finds are drawn or covered.
package struct Drawing {
    let width: Int, height: Int
    /// Red, green and blue of each pixel, row by row.
    var pixels: [UInt8]
    /// Half the thickness of a frame, the thickness of other lines and the side of a letter's dot, in pixels.
    private let unit: Int

    /// The largest picture that can be drawn on, in pixels.
    private static let maximum = 64_000_000

    /// Draws a result on a picture; returns a PNG.
    /// - Parameter edges: pairs of keypoints to join with a line.
    package static func png(of bytes: [UInt8], with result: ObservationResult, edges: [[Int]]) throws -> [UInt8] {
        var drawing = try Drawing(
            bytes, orientation: ImageOrientation(exif: result.image.orientation) ?? .apply,
            width: result.displayed.width, height: result.displayed.height)
        drawing.draw(result, edges: edges)
        return try drawing.pixels.withUnsafeBytes {
            try PNGEncoder.encode(width: drawing.width, height: drawing.height, channels: 3, pixels: $0)
        }
    }

    /// Begins with a decoded picture.
    package init(_ picture: HeldPicture, isCancelled: () -> Bool) throws(ImageError) {
        (width, height) = (picture.size.width, picture.size.height)
        unit = max(1, min(width, height) / 300)
        pixels = try picture.pixels.flattened(over: .white, isCancelled: isCancelled)
    }

    /// Decodes a picture as it is displayed, at the given size.
    /// - Throws: ``CommandError`` for a picture that is too large to be drawn on.
    private init(_ bytes: [UInt8], orientation: ImageOrientation, width: Int, height: Int) throws {
        guard width <= ImageTensorSpec.maximumSide, height <= ImageTensorSpec.maximumSide,
            width * height <= Self.maximum
        else { throw CommandError("--draw: a picture of \(width) x \(height) pixels is too large to be drawn on") }
        self.width = width
        self.height = height
        unit = max(1, min(width, height) / 300)
        let pipeline = try ImagePipeline(
            spec: ImageTensorSpec(width: width, height: height, cropAndScale: .scaleFill, decodeMargin: .infinity))
        var pixels = [UInt8](repeating: 0, count: width * height * 3)
        let image = try EncodedImage(bytes).decodedHere(pipeline, page: 0) { false }
        let outcome = pixels.withUnsafeMutableBytes { target in
            Result { () throws(ImageError) in
                try image.prepare(pipeline, into: target, options: ImageDecodeOptions(orientation: orientation)) {
                    false
                }
            }
        }
        _ = try outcome.get()
        self.pixels = pixels
    }

    typealias Color = (red: UInt8, green: UInt8, blue: UInt8)

    /// A class's colour, bright enough to stand out from dark pictures. Hues follow each other by the golden section,
    /// so that neighbouring classes differ.
    private static func color(_ index: Int) -> Color {
        let hue = (Double(index % 10_000) * 0.618_034).truncatingRemainder(dividingBy: 1) * 6
        let part = hue - hue.rounded(.down)
        let rising = UInt8(40 + 215 * part), falling = UInt8(255 - 215 * part)
        switch Int(hue) {
        case 0: return (255, rising, 40)
        case 1: return (falling, 255, 40)
        case 2: return (40, 255, rising)
        case 3: return (40, falling, 255)
        case 4: return (rising, 40, 255)
        default: return (255, 40, falling)
        }
    }

    /// Width in pixels of a dark edge round lines, which makes them stand out from light pictures; 0 in small pictures,
    /// which have no room for it.
    private var outline: Int { min(width, height) >= 100 ? 1 : 0 }

    package mutating func draw(_ result: ObservationResult, edges: [[Int]]) {
        switch result.content {
        case .detections(let found):
            for one in found {
                if let mask = one.mask { tint(mask, Self.color(one.index)) }
            }
            for one in found.reversed() {
                let color = Self.color(one.index)
                let left = Int(one.box.x), top = Int(one.box.y)
                let right = Int(one.box.x + one.box.width), bottom = Int(one.box.y + one.box.height)
                if let turned = one.turned {
                    frame(turned.corners.all, color)
                } else {
                    if outline > 0 {
                        frame(left, top, right, bottom, from: -outline, to: 2 * unit + outline, (0, 0, 0))
                    }
                    frame(left, top, right, bottom, from: 0, to: 2 * unit, color)
                }
                if let points = one.keypoints { self.points(points, edges, color) }
                // A turned box may lie outside.
                guard one.box.width >= 0, one.box.height >= 0 else { continue }
                label(one.label, " \(Int(one.confidence * 100))%", x: left, y: top, color)
            }
        case .mask(let mask, _):
            let unseen = mask.unseen
            let line = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, mask.width * mask.bytes))
            defer { line.deallocate() }
            for row in 0..<mask.height {
                mask.write(row: row, into: line)
                for column in 0..<mask.width {
                    let value =
                        mask.bytes == 1
                        ? Int(line[column]) : Int(line[2 * column]) << 8 | Int(line[2 * column + 1])
                    if value != 0, value != Int(unseen) { blend(column, row, Self.color(value - 1)) }
                }
            }
        case .keypoints(let points): self.points(points, edges, (255, 64, 64))
        case .embedding: break
        case .text(let page): for line in page.lines { frame(line.corners, Self.line) }
        }
    }

    /// The colour of frames around lines of text.
    private static let line: Color = (40, 200, 255)

    private mutating func points(_ points: [ObservationResult.Point], _ edges: [[Int]], _ color: Color) {
        for edge in edges {
            guard edge.count == 2, points.indices.contains(edge[0]), points.indices.contains(edge[1]),
                let first = points[edge[0]].place, let second = points[edge[1]].place
            else { continue }
            if outline > 0 { line(first, second, more: outline, (0, 0, 0)) }
            line(first, second, more: 0, color)
        }
        for point in points {
            guard let place = point.place else { continue }
            let x = Int(place.x), y = Int(place.y), radius = 2 * unit
            fill(x - radius, y - radius, x + radius + 1, y + radius + 1, (0, 0, 0))
            fill(x - radius + 1, y - radius + 1, x + radius, y + radius, color)
        }
    }

    /// Draws a straight line, `more` pixels thicker on each side than usual.
    private mutating func line(
        _ first: (x: Double, y: Double), _ second: (x: Double, y: Double), more: Int, _ color: Color
    ) {
        let steps = max(1, Int(max(abs(first.x - second.x), abs(first.y - second.y))))
        for step in 0...steps {
            let part = Double(step) / Double(steps)
            let x = Int(first.x + (second.x - first.x) * part), y = Int(first.y + (second.y - first.y) * part)
            fill(x - unit / 2 - more, y - unit / 2 - more, x + (unit + 1) / 2 + more, y + (unit + 1) / 2 + more, color)
        }
    }

    /// Draws the sides of a turned box, or of a line of text.
    private mutating func frame(_ corners: [PlanePoint], _ color: Color) {
        let sides = zip(corners, corners.dropFirst() + corners.prefix(1))
        let more = (unit + 1) / 2
        let lines = sides.compactMap { visible(($0.x, $0.y), ($1.x, $1.y)) }
        if outline > 0 { for (start, end) in lines { line(start, end, more: more + outline, (0, 0, 0)) } }
        for (start, end) in lines { line(start, end, more: more, color) }
    }

    /// The part of a line in the picture and in a strip around it, as wide as lines are thick; nil for a line outside.
    /// Corners may be billions of pixels away (Liang and Barsky).
    private func visible(
        _ first: (x: Double, y: Double), _ second: (x: Double, y: Double)
    ) -> ((x: Double, y: Double), (x: Double, y: Double))? {
        let strip = Double(4 * unit), (across, down) = (second.x - first.x, second.y - first.y)
        var part = (start: 0.0, end: 1.0)
        let bounds = [
            (-across, first.x + strip), (across, Double(width) + strip - first.x), (-down, first.y + strip),
            (down, Double(height) + strip - first.y),
        ]
        for (slope, room) in bounds {
            if slope == 0, room < 0 { return nil }
            if slope < 0 { part.start = max(part.start, room / slope) }
            if slope > 0 { part.end = min(part.end, room / slope) }
        }
        guard part.start < part.end else { return nil }
        func point(_ part: Double) -> (x: Double, y: Double) { (first.x + part * across, first.y + part * down) }
        return (point(part.start), point(part.end))
    }

    /// Draws the sides of a rectangle, from `outer` pixels inside of it (negative: outside) to `inner`.
    private mutating func frame(
        _ left: Int, _ top: Int, _ right: Int, _ bottom: Int, from outer: Int, to inner: Int, _ color: Color
    ) {
        for inset in outer..<inner {
            fill(left + inset, top + inset, right - inset, top + inset + 1, color)
            fill(left + inset, bottom - inset - 1, right - inset, bottom - inset, color)
            fill(left + inset, top + inset, left + inset + 1, bottom - inset, color)
            fill(right - inset - 1, top + inset, right - inset, bottom - inset, color)
        }
    }

    /// Fills a rectangle, cut off at the picture's edges.
    mutating func fill(_ left: Int, _ top: Int, _ right: Int, _ bottom: Int, _ color: Color) {
        for row in max(0, top)..<max(max(0, top), min(height, bottom)) {
            for column in max(0, left)..<max(max(0, left), min(width, right)) {
                let place = 3 * (row * width + column)
                pixels[place] = color.red
                pixels[place + 1] = color.green
                pixels[place + 2] = color.blue
            }
        }
    }

    /// Mixes a pixel with the colour, half and half.
    private mutating func blend(_ column: Int, _ row: Int, _ color: Color) {
        guard column >= 0, column < width, row >= 0, row < height else { return }
        let place = 3 * (row * width + column)
        pixels[place] = UInt8((UInt16(pixels[place]) + UInt16(color.red)) / 2)
        pixels[place + 1] = UInt8((UInt16(pixels[place + 1]) + UInt16(color.green)) / 2)
        pixels[place + 2] = UInt8((UInt16(pixels[place + 2]) + UInt16(color.blue)) / 2)
    }

    private mutating func tint(_ mask: RunLengths, _ color: Color) {
        guard mask.height > 0 else { return }
        var place = 0
        for (index, run) in mask.counts.enumerated() {
            if index & 1 == 1 {
                for pixel in place..<place + Int(run) { blend(pixel / mask.height, pixel % mask.height, color) }
            }
            place += Int(run)
        }
    }

    /// Writes a name and its suffix on a strip of the colour, above the box if there is room. A name that is too long
    /// for the picture is cut off; in a picture that the strip would hide, nothing is written.
    private mutating func label(_ name: String, _ end: String, x: Int, y: Int, _ color: Color) {
        let scale = max(1, unit), room = min(40, (width / scale - 2) / 6)
        guard height >= 27 * scale, room > end.count else { return }
        let letters = name.uppercased().prefix(room - end.count) + end
        let strip = (width: (letters.count * 6 + 2) * scale, height: 9 * scale)
        let top = y >= strip.height ? y - strip.height : min(y, height - strip.height)
        let left = max(0, min(x, width - strip.width))
        fill(left, top, left + strip.width, top + strip.height, color)
        let luma = Int(color.red) * 3 + Int(color.green) * 6 + Int(color.blue)
        let ink: Color = luma > 1_280 ? (0, 0, 0) : (255, 255, 255)
        for (index, letter) in letters.enumerated() {
            for (row, bits) in (Letters.rows[letter] ?? Letters.unknown).enumerated() {
                for column in 0..<5 where bits & (16 >> UInt8(column)) != 0 {
                    let dotX = left + (index * 6 + 1 + column) * scale, dotY = top + (row + 1) * scale
                    fill(dotX, dotY, dotX + scale, dotY + scale, ink)
                }
            }
        }
    }
}

extension ObservationOutput {
    /// The skeleton's edges; empty without a skeleton.
    package var edges: [[Int]] {
        switch kind {
        case .keypoints(_, let skeleton): skeleton.edges
        case .boxes(let boxes): boxes.keypoints?.skeleton.edges ?? []
        default: []
        }
    }
}

/// Letters of 5 by 7 dots: capitals, digits and a few signs. Each row's bits are its dots, the left one highest.
enum Letters {
    static let unknown: [UInt8] = [31, 17, 17, 17, 17, 17, 31]
    static let rows: [Character: [UInt8]] = [
        " ": [0, 0, 0, 0, 0, 0, 0], "A": [14, 17, 17, 31, 17, 17, 17], "B": [30, 17, 17, 30, 17, 17, 30],
        "C": [15, 16, 16, 16, 16, 16, 15], "D": [30, 17, 17, 17, 17, 17, 30], "E": [31, 16, 16, 30, 16, 16, 31],
        "F": [31, 16, 16, 30, 16, 16, 16], "G": [15, 16, 16, 19, 17, 17, 15], "H": [17, 17, 17, 31, 17, 17, 17],
        "I": [14, 4, 4, 4, 4, 4, 14], "J": [7, 2, 2, 2, 2, 18, 12], "K": [17, 18, 20, 24, 20, 18, 17],
        "L": [16, 16, 16, 16, 16, 16, 31], "M": [17, 27, 21, 21, 17, 17, 17], "N": [17, 25, 21, 21, 19, 17, 17],
        "O": [14, 17, 17, 17, 17, 17, 14], "P": [30, 17, 17, 30, 16, 16, 16], "Q": [14, 17, 17, 17, 21, 18, 13],
        "R": [30, 17, 17, 30, 20, 18, 17], "S": [15, 16, 16, 14, 1, 1, 30], "T": [31, 4, 4, 4, 4, 4, 4],
        "U": [17, 17, 17, 17, 17, 17, 14], "V": [17, 17, 17, 17, 17, 10, 4], "W": [17, 17, 17, 21, 21, 27, 17],
        "X": [17, 17, 10, 4, 10, 17, 17], "Y": [17, 17, 10, 4, 4, 4, 4], "Z": [31, 1, 2, 4, 8, 16, 31],
        "0": [14, 17, 19, 21, 25, 17, 14], "1": [4, 12, 4, 4, 4, 4, 14], "2": [14, 17, 1, 6, 8, 16, 31],
        "3": [30, 1, 1, 14, 1, 1, 30], "4": [2, 6, 10, 18, 31, 2, 2], "5": [31, 16, 30, 1, 1, 17, 14],
        "6": [14, 16, 16, 30, 17, 17, 14], "7": [31, 1, 2, 4, 8, 8, 8], "8": [14, 17, 17, 14, 17, 17, 14],
        "9": [14, 17, 17, 15, 1, 1, 14], "%": [25, 25, 2, 4, 8, 19, 19], ".": [0, 0, 0, 0, 0, 12, 12],
        "-": [0, 0, 0, 14, 0, 0, 0], "_": [0, 0, 0, 0, 0, 0, 31], "/": [1, 1, 2, 4, 8, 16, 16],
        ":": [0, 12, 12, 0, 12, 12, 0], "(": [2, 4, 8, 8, 8, 4, 2], ")": [8, 4, 2, 2, 2, 4, 8],
        "'": [4, 4, 8, 0, 0, 0, 0], ",": [0, 0, 0, 0, 12, 4, 8], "+": [0, 4, 4, 31, 4, 4, 0],
    ]
}
