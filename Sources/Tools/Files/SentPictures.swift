internal import ImagePipeline
internal import Settings
internal import SystemSupport

/// The pictures that a benchmark or a load test sends.
struct SentPictures: Sendable {
    struct Picture: Sendable {
        let name: String
        let bytes: [UInt8]
    }

    let pictures: [Picture]

    /// The maximum number of pictures kept in memory, and of their total bytes.
    private static let maximum = 1000, maximumBytes = 1 << 30

    /// Reads files; without any, draws a picture.
    /// - Parameter maximum: the maximum number of bytes of a picture.
    init(files: [String], maximum: Int) throws {
        guard !files.isEmpty else {
            pictures = [Picture(name: "a drawn 7", bytes: try Self.drawnSeven())]
            return
        }
        guard files.count <= Self.maximum else {
            throw CommandError("expected at most \(Self.maximum) pictures, found \(files.count)")
        }
        var pictures: [Picture] = []
        var sum = 0
        for file in files {
            let bytes: [UInt8]
            do throws(CommandError) {
                bytes = try InputFile.read(file, maximum: maximum)
            } catch {
                throw CommandError("\(file): \(error)")
            }
            guard !bytes.isEmpty else { throw CommandError("\(file) is empty: expected a picture") }
            sum += bytes.count
            guard sum <= Self.maximumBytes else {
                throw CommandError("the pictures have more than \(Units.bytes(Self.maximumBytes)) together")
            }
            let name = FilePath.name(of: file) ?? file
            pictures.append(Picture(name: name, bytes: bytes))
        }
        self.pictures = pictures
    }

    /// A 7 in dark strokes on white, 256 x 256, for the embedded model.
    private static func drawnSeven() throws -> [UInt8] {
        let side = 256
        var pixels = [UInt8](repeating: 255, count: side * side)
        // The distance to the two strokes of the digit, in pixels.
        func distance(_ x: Double, _ y: Double, _ line: (x0: Double, y0: Double, x1: Double, y1: Double)) -> Double {
            let dx = line.x1 - line.x0, dy = line.y1 - line.y0
            let part = min(max(((x - line.x0) * dx + (y - line.y0) * dy) / (dx * dx + dy * dy), 0), 1)
            let ex = x - line.x0 - part * dx, ey = y - line.y0 - part * dy
            return (ex * ex + ey * ey).squareRoot()
        }
        let strokes = [(x0: 76.0, y0: 64.0, x1: 180.0, y1: 64.0), (x0: 180.0, y0: 64.0, x1: 112.0, y1: 196.0)]
        for row in 0..<side {
            for column in 0..<side {
                let nearest = strokes.map { distance(Double(column), Double(row), $0) }.min() ?? 99
                pixels[row * side + column] = UInt8(min(max((nearest - 9) * 64, 0), 255))
            }
        }
        return try pixels.withUnsafeBytes { raw throws(ImageError) in
            try PNGEncoder.encode(width: side, height: side, channels: 1, pixels: raw)
        }
    }
}
