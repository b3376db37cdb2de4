internal import EngineAPI
internal import ImagePipeline
internal import JSON

/// Reads the allowed sizes of a picture with open sides: `"shape": [-1, -1, 3]` with `"open_size"`.
struct OpenSizeParser {
    let object: ManifestObject
    /// Height, width and channels of the input, if its shape is valid.
    let dimensions: [Int]

    /// The maximum side if model.json sets none. The memory of a model's layers is proportional to the area.
    static let usualMaximum = 1_024

    /// The sizes; nil if the picture's size is fixed.
    func parse() -> OpenSize? {
        let isOpen = dimensions.count == 3 && dimensions[..<2].contains(Shape.dynamic)
        guard let sizes = object.object("open_size") else { return isOpen ? size(.init()) : nil }
        defer { sizes.refuseUnknownKeys() }
        var given = Given()
        given.minimum = sides(sizes, "minimum")
        given.maximum = sides(sizes, "maximum")
        given.multiple = sides(sizes, "multiple")
        guard isOpen else {
            object.problems.add(
                object.path(of: "open_size"), "is for a shape whose height or width is -1, found \(Shape(dimensions))")
            return nil
        }
        let size = size(given)
        if let problem = size.problem { object.problems.add(object.path(of: "open_size"), problem) }
        return size
    }

    private struct Given {
        var minimum: ImageSize?, maximum: ImageSize?, multiple: ImageSize?
    }

    /// The allowed sizes; a side that is not open has one length.
    private func size(_ given: Given) -> OpenSize {
        func side(_ given: Int?, _ usual: Int, _ fixed: Int) -> Int { fixed == Shape.dynamic ? given ?? usual : fixed }
        func size(_ given: ImageSize?, _ usual: Int) -> ImageSize {
            ImageSize(
                width: side(given?.width, usual, dimensions[1]), height: side(given?.height, usual, dimensions[0]))
        }
        var multiple = given.multiple ?? ImageSize(width: 1, height: 1)
        if dimensions[0] != Shape.dynamic { multiple.height = 1 }
        if dimensions[1] != Shape.dynamic { multiple.width = 1 }
        return OpenSize(
            minimum: size(given.minimum, 1), maximum: size(given.maximum, Self.usualMaximum), multiple: multiple)
    }

    /// Reads one number for both sides, or `[height, width]`.
    private func sides(_ sizes: ManifestObject, _ key: String) -> ImageSize? {
        guard let value = sizes.value(key) else { return nil }
        func side(_ value: JSONValue) -> Int? {
            if case .integer(let side) = value, (1...ImageTensorSpec.maximumSide).contains(side) { side } else { nil }
        }
        if let both = side(value) { return ImageSize(width: both, height: both) }
        if case .array(let elements) = value, elements.count == 2, let height = side(elements[0]),
            let width = side(elements[1])
        {
            return ImageSize(width: width, height: height)
        }
        sizes.problems.add(
            sizes.path(of: key),
            "expected a number from 1 to \(ImageTensorSpec.maximumSide), or [height, width], found \(value.kind)")
        return nil
    }
}

extension ShapeLimits {
    /// The allowed shapes of a picture's tensor that takes the picture's size; nil for other layers.
    init?(_ layer: ModelManifest.Layer, _ shape: Shape) {
        guard case .image(let image) = layer.kind, let size = image.openSize else { return nil }
        let sides =
            image.layout == .nhwc ? shape.dimensions.indices.suffix(3).prefix(2) : shape.dimensions.indices.suffix(2)
        let limits = [(size.minimum.height, size.maximum.height), (size.minimum.width, size.maximum.width)]
        self = .ranges(
            shape.dimensions.enumerated().map { axis, extent in
                let (lower, upper) = sides.contains(axis) ? limits[axis - sides.startIndex] : (extent, extent)
                return (lower, upper)
            })
    }
}
