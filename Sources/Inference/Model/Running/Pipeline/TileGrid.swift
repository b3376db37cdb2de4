internal import ImagePipeline

/// A grid of squares that covers a picture; the last one of each row and column is moved back into the picture.
struct TileGrid: Sendable {
    let windows: [PictureWindow]

    /// The maximum number of tiles of a picture, because each is an inference: more would take seconds.
    static let maximum = 1_000

    /// - Throws: if the picture needs more than ``maximum`` tiles.
    init(_ tiles: PipelineDescription.Tiles, over size: ImageSize) throws(InferenceError) {
        let step = max(1, Int((Double(tiles.size) * (1 - tiles.overlap)).rounded()))
        func count(_ length: Int) -> Int { length <= tiles.size ? 1 : (length - tiles.size + step - 1) / step + 1 }
        let (all, isLarge) = count(size.width).multipliedReportingOverflow(by: count(size.height))
        guard !isLarge, all <= Self.maximum else {
            throw .invalidInput(
                name: "image",
                reason:
                    "a picture of \(size.width) x \(size.height) pixels makes \(all) tiles of \(tiles.size): the limit is "
                    + "\(Self.maximum); send it smaller, or make the tiles larger (pipeline.tiles.size)")
        }
        func starts(_ length: Int) -> [(start: Int, length: Int)] {
            (0..<count(length)).map { (max(0, min($0 * step, length - tiles.size)), min(tiles.size, length)) }
        }
        var windows: [PictureWindow] = []
        do throws(ImageError) {
            for (y, height) in starts(size.height) {
                for (x, width) in starts(size.width) {
                    let box = PictureBox(x: Double(x), y: Double(y), width: Double(width), height: Double(height))
                    windows.append(try PictureWindow(box, maxPixels: .max))
                }
            }
        } catch {
            throw .image(error, input: nil)
        }
        self.windows = windows
    }
}
