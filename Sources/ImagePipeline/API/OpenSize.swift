/// The possible sizes of the tensor of a model that takes pictures of their own size.
///
/// A picture keeps its size if that is within the limits; otherwise both sides are scaled by the factor nearest to 1
/// that brings them within the limits. Then each side is changed to a multiple of a number: with `scaleFit` to the next
/// one, and the rest is margin; with `scaleFill` to the nearest, and the picture is stretched; with `centerCrop` to the
/// one below, and the edges are cut.
public struct OpenSize: Sendable, Hashable, Codable {
    /// The minimum and maximum sides of the tensor; equal for a fixed side.
    public var minimum: ImageSize, maximum: ImageSize
    /// The number of which each side of the tensor is a multiple.
    public var multiple: ImageSize
    /// The size of the tensor if the request does not choose another one, whatever the picture's size; nil if the
    /// picture determines it.
    public var usual: ImageSize?
    /// The only sizes, if ``usual`` is one of a list; otherwise nil.
    public var choices: [ImageSize]?
    /// The scaling of the picture; nil keeps its size if that is within the limits.
    public var rule: Rule?
    /// The maximum number of the tensor's pixels with a ``rule``; nil for no other limit than that of the sides.
    public var maximumPixels: Int?

    /// A scaling by which readers of text choose the size of a tensor.
    public enum Rule: Sendable, Hashable, Codable {
        /// The shorter side is enlarged to a length; pictures are not reduced. Each side is then changed to the nearest
        /// multiple, halves to even multiples.
        case shorterSide(Int)
        /// The longer side is reduced to a length; pictures are not enlarged. The sides are then changed likewise.
        case longerSide(Int)
        /// The picture is a line of text: it is scaled to the tensor's height, and in width by the same factor, but to
        /// no more than the maximum. With `scaleFit` the width is rounded up to whole pixels, the tensor's is the next
        /// multiple, or that of the request, and the rest is margin. With `scaleFill` it is rounded to the nearest
        /// multiple, with `centerCrop` down.
        case line
    }

    /// Creates sizes within limits. `validate` refuses sides of 0 or less, and limits with no multiple between them.
    public init(
        minimum: ImageSize = ImageSize(width: 1, height: 1), maximum: ImageSize,
        multiple: ImageSize = ImageSize(width: 1, height: 1)
    ) {
        self.minimum = minimum
        self.maximum = maximum
        self.multiple = multiple
    }

    /// The limits of one side of the tensor.
    private struct Side {
        let first: Int, last: Int, multiple: Int

        /// Fails if no multiple is within the limits.
        init?(_ first: Int, _ last: Int, _ multiple: Int) {
            guard multiple >= 1, first >= 1, last <= ImageTensorSpec.maximumSide, first <= last else { return nil }
            self.multiple = multiple
            self.first = (first + multiple - 1) / multiple * multiple
            self.last = last / multiple * multiple
            guard self.first <= self.last else { return nil }
        }

        /// The tensor's side for a picture that is scaled to `length`.
        func tensor(_ length: Int, _ mode: CropAndScale) -> Int {
            let rounded =
                switch mode {
                case .scaleFit: (length + multiple - 1) / multiple
                case .scaleFill: (length + multiple / 2) / multiple
                case .centerCrop: length / multiple
                }
            return min(max(rounded * multiple, first), last)
        }
    }

    private var sides: (x: Side, y: Side)? {
        guard let x = Side(minimum.width, maximum.width, multiple.width),
            let y = Side(minimum.height, maximum.height, multiple.height)
        else { return nil }
        return (x, y)
    }

    /// The reason why no size is possible; nil if some are.
    public var problem: String? {
        guard sides == nil else { return nil }
        func text(_ size: ImageSize) -> String { "[\(size.height), \(size.width)]" }
        return "no multiple of \(text(multiple)) is between \(text(minimum)) and \(text(maximum)), which are at most "
            + "\(ImageTensorSpec.maximumSide)"
    }

    /// The limits as text, height first: `1 x 1 to 1024 x 1024, multiples of 8 x 8`.
    public var description: String {
        func text(_ size: ImageSize) -> String { "\(size.height) x \(size.width)" }
        let steps = multiple.width > 1 || multiple.height > 1 ? ", multiples of \(text(multiple))" : ""
        return "\(text(minimum)) to \(text(maximum))\(steps)"
    }

    /// True if a request may choose this size, of those with a ``usual`` one.
    public func allows(_ size: ImageSize) -> Bool {
        if let choices { return choices.contains(size) }
        return (minimum.width...max(minimum.width, maximum.width)).contains(size.width)
            && (minimum.height...max(minimum.height, maximum.height)).contains(size.height)
    }

    /// The sizes that a request may choose, as text, width first: `24x16, 48x32`, or `8x8 to 64x64`.
    public var choice: String {
        func text(_ size: ImageSize) -> String { "\(size.width)x\(size.height)" }
        if let choices { return choices.map(text).joined(separator: ", ") }
        return "\(text(minimum)) to \(text(maximum))"
    }

    /// The size of the tensor for a displayed picture that is stretched to it; nil for an empty picture.
    public func tensor(width: Int, height: Int) -> ImageSize? {
        if let choices {
            let own = ImageSize(width: width, height: height)
            return choices.contains(own) ? own : usual
        }
        return sizes(width: width, height: height, mode: .scaleFill)?.tensor
    }

    /// The sizes of the tensor and of the scaled picture, for a displayed picture.
    /// - Parameter asked: the tensor's size that the request chooses for a line; ignored otherwise.
    func sizes(
        width: Int, height: Int, mode: CropAndScale, asked: ImageSize? = nil
    ) -> (tensor: ImageSize, picture: ImageSize)? {
        guard width > 0, height > 0, let (x, y) = sides else { return nil }
        let (across, down) = (Double(width), Double(height))
        switch rule {
        case .shorterSide(let side):
            let tensor = stretched(width, height, by: max(1, Double(side) / min(across, down)), x, y)
            return (tensor, tensor)
        case .longerSide(let side):
            let tensor = stretched(width, height, by: min(1, Double(side) / max(across, down)), x, y)
            return (tensor, tensor)
        case .line:
            let rounding: FloatingPointRoundingRule =
                switch mode {
                case .scaleFit: .up
                case .scaleFill: .toNearestOrAwayFromZero
                case .centerCrop: .down
                }
            let length = min((Double(y.last) * across / down).rounded(rounding), Double(x.last))
            let own = max(1, Int(length)), width = x.tensor(asked?.width ?? own, mode)
            let tensor = ImageSize(width: width, height: y.last)
            return (tensor, mode == .scaleFit ? ImageSize(width: min(own, width), height: y.last) : tensor)
        case nil: break
        }
        let last = min(Double(x.last) / across, Double(y.last) / down)
        let first = max(Double(x.first) / across, Double(y.first) / down)
        // A picture too thin for both limits stays below the maximum.
        let factor = min(max(1, first), last)
        func scaled(_ length: Double, _ side: Side) -> Int {
            max(1, min(side.last, Int((length * factor).rounded(.toNearestOrEven))))
        }
        let picture = ImageSize(width: scaled(across, x), height: scaled(down, y))
        return (ImageSize(width: x.tensor(picture.width, mode), height: y.tensor(picture.height, mode)), picture)
    }

    /// The size of a stretched picture with both sides scaled by a factor, within the limits.
    private func stretched(_ width: Int, _ height: Int, by factor: Double, _ x: Side, _ y: Side) -> ImageSize {
        func size(_ factor: Double, _ rounding: FloatingPointRoundingRule) -> ImageSize {
            func side(_ length: Int, _ side: Side) -> Int {
                // Whole pixels first, as in the reference. The limits of pictures keep the product small.
                let pixels = (Double(length) * factor).rounded(.towardZero)
                let steps = (pixels / Double(side.multiple)).rounded(rounding)
                return min(max(Int(min(steps, 1e6)) * side.multiple, side.first), side.last)
            }
            return ImageSize(width: side(width, x), height: side(height, y))
        }
        let own = size(factor, .toNearestOrEven)
        guard let maximumPixels, own.width * own.height > maximumPixels else { return own }
        // Of a thin picture only the longer side shrinks, because the shorter one has the minimum.
        var factor = factor, smaller = own
        for _ in 0..<64 where smaller.width * smaller.height > maximumPixels {
            let ratio = Double(maximumPixels) / Double(smaller.width * smaller.height)
            factor *= max(ratio, 0.25).squareRoot() * 0.999
            smaller = size(factor, .down)
        }
        return smaller
    }
}
