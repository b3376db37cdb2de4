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

    /// The size of the tensor for a displayed picture that is stretched to it; nil for an empty picture.
    public func tensor(width: Int, height: Int) -> ImageSize? {
        sizes(width: width, height: height, mode: .scaleFill)?.tensor
    }

    /// The sizes of the tensor and of the scaled picture, for a displayed picture.
    func sizes(width: Int, height: Int, mode: CropAndScale) -> (tensor: ImageSize, picture: ImageSize)? {
        guard width > 0, height > 0, let (x, y) = sides else { return nil }
        let (across, down) = (Double(width), Double(height))
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
}
