internal import ImagePipeline

/// Made-up extents for the open axes of a model's inputs, at which two engines are compared.
///
/// The arithmetic of a file may refuse some of them: a network that halves a picture five times and joins the results
/// takes multiples of 32 only.
struct TrialExtents {
    /// The shapes by the index of the input. In each group the first shapes are tried that the model takes: small ones,
    /// odd and unequal ones, usual ones, large ones, and several rows.
    let groups: [[[Int: Shape]]]

    /// The largest number of elements of an input.
    private static let maximumElements = 1 << 24

    private struct Extents {
        var rows = 1, height: Int, width: Int, channels = 3
    }

    init(_ plan: ModelPlan) {
        let open = plan.inputs.filter { !$0.description.shape.isStatic }
        let shapes = open.map(\.description.shape.dimensions)
        let hasOpenRows = shapes.contains { $0.first == Shape.dynamic }
        let hasOpenSides = shapes.contains { $0.dropFirst().contains(Shape.dynamic) }
        var groups: [[Extents]]
        if let size = open.lazy.compactMap(\.openPicture?.spec.openSize).first {
            groups = Self.pictures(size)
        } else if shapes.contains(where: { $0.count > 3 && $0.dropFirst().contains(Shape.dynamic) }) {
            groups = Self.pictures
        } else {
            groups = hasOpenSides ? Self.sequences : [[Extents(height: 1, width: 1)]]
        }
        if hasOpenRows, let small = groups.first {
            // The first axis of few may be that of a sequence: an engine was wrong at 6 and right at 3.
            for rows in shapes.allSatisfy({ $0.count < 4 }) ? [3, 9] : [3] {
                groups.append(small.map { Extents(rows: rows, height: $0.height, width: $0.width) })
            }
        }
        if shapes.contains(where: Self.hasOpenChannels) {
            groups = groups.map {
                $0 + $0.map { Extents(rows: $0.rows, height: $0.height, width: $0.width, channels: 1) }
            }
        }
        var known: Set<[Int: Shape]> = []
        self.groups = groups.map { group in
            group.compactMap { extents in
                var found: [Int: Shape] = [:]
                for input in open { found[input.index] = Self.shape(of: input, extents) }
                let isSmall = found.values.allSatisfy { ($0.elementCount ?? .max) <= Self.maximumElements }
                return isSmall && known.insert(found).inserted ? found : nil
            }
        }
    }

    /// The sides of pictures: multiples of 8, 16 and 32 follow where a file does not take any.
    private static let pictures = [
        [(32, 32), (64, 64), (8, 8)], [(37, 51), (40, 56), (48, 80), (96, 160)], [(224, 224)], [(256, 320)],
    ].map { $0.map { Extents(height: $0.0, width: $0.1) } }

    /// The lengths of sequences.
    private static let sequences = [[(8, 8), (1, 1)], [(13, 17)], [(64, 64)]]
        .map { $0.map { Extents(height: $0.0, width: $0.1) } }

    /// The sides that model.json allows.
    private static func pictures(_ size: OpenSize) -> [[Extents]] {
        // The next odd multiple of a number.
        func odd(_ side: Int, _ multiple: Int) -> Int { (((side + multiple - 1) / max(1, multiple)) | 1) * multiple }
        let sides = [
            (max(16, size.minimum.height), max(16, size.minimum.width)),
            (odd(37, size.multiple.height), odd(51, size.multiple.width) + 2 * size.multiple.width),
            (224, 224), (256, 320),
        ]
        return sides.map { [Extents(height: $0.0, width: $0.1)] }
    }

    private static func hasOpenChannels(_ extents: [Int]) -> Bool {
        extents.count == 4 && extents.dropFirst().allSatisfy { $0 == Shape.dynamic }
    }

    private static func shape(of input: InputPlan, _ extents: Extents) -> Shape {
        let shape = input.description.shape
        if let image = input.description.image,
            let size = image.openSize?.tensor(width: extents.width, height: extents.height)
        {
            return shape.resolved(width: size.width, height: size.height, image.layout)
        }
        var found = shape.dimensions
        if found.first == Shape.dynamic { found[0] = extents.rows }
        if hasOpenChannels(shape.dimensions) { found[1] = extents.channels }
        let last = found.lastIndex(of: Shape.dynamic)
        return Shape(
            found.enumerated().map { axis, extent in
                extent != Shape.dynamic ? extent : axis == last ? extents.width : extents.height
            })
    }
}
