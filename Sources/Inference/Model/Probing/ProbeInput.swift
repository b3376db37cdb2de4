/// The circumstances of an input that its made-up values depend on: the other inputs, and the operators of the file.
struct ProbeInput {
    /// The index of the input: inputs of one model have different values.
    var position = 0
    /// The number of columns if the input looks like boxes; nil otherwise.
    var boxColumns: Int?
    /// True if the model has other inputs.
    var isAmongOthers = false
    /// True if an input looks like boxes: integers may be indices of pictures, and the batch has one.
    var isAmongBoxes = false
    /// The number of its elements; nil if it is open.
    var count: Int?
    /// The number of axes.
    var rank = 2
    /// True if it is a picture, or looks like one.
    var isPicture = false
    /// True if NaN and infinities may be put into it.
    var takesNaN = false
    var takesAnyInteger = false

    /// The circumstances of the comparison of streams: values do not depend on the other inputs.
    init() {}

    /// The inputs of a plan, in its order, for a comparison of engines.
    static func inputs(of plan: ModelPlan, _ traits: FileTraits) -> [ProbeInput] {
        let columns = plan.inputs.map(boxColumns)
        return plan.inputs.enumerated().map { position, input in
            let shape = input.description.shape, type = input.description.elementType
            var found = ProbeInput()
            found.position = position
            found.boxColumns = columns[position]
            found.isAmongOthers = plan.inputs.count > 1
            found.isAmongBoxes = columns.contains { $0 != nil }
            found.rank = shape.dimensions.count
            found.count = shape.isStatic ? shape.elementCount : nil
            found.takesAnyInteger = traits.takesAnyInteger
            found.isPicture = isPicture(input)
            // A short list among other inputs may be scales or sizes.
            found.takesNaN =
                traits.keepsNaN && type.isFloatingPoint && (found.rank > 1 || !found.isAmongOthers)
            return found
        }
    }

    /// Boxes are rows of four corners, or of an index and four corners.
    private static func boxColumns(_ input: InputPlan) -> Int? {
        let extents = input.description.shape.dimensions
        guard input.description.elementType.isFloatingPoint, !input.isPicture else { return nil }
        switch (extents.count, extents.last) {
        case (2, 4?), (3, 4?): return 4
        case (2, 5?): return 5
        default: return nil
        }
    }

    private static func isPicture(_ input: InputPlan) -> Bool {
        let extents = input.description.shape.dimensions
        guard !input.isPicture, input.description.image == nil else { return true }
        guard extents.count == 3 || extents.count == 4 else { return false }
        let channels = [extents[extents.count - 3], extents[extents.count - 1]]
        return channels.contains { [1, 3, 4].contains($0) }
    }

    /// The value of an integer of more than 8 bits for one of 256 levels. It may be an index, and every table has the
    /// indices 0 and 1, or a number of rows.
    func wideInteger(_ level: Int, _ type: ElementType, _ pattern: ProbePattern) -> Int {
        if takesAnyInteger {
            let isSigned = type.integerRange.map { $0.lowerBound < 0 } ?? false
            let sign = isSigned && level % 2 == 1 ? -1 : 1
            // Products stay below 2^31.
            if pattern == .large { return sign * (position == 0 ? 16_777_217 + level * 131_071 : 1 + level % 31) }
            return sign * (1 + level % 9)
        }
        guard rank > 1 else {
            switch pattern {
            case _ where isAmongBoxes && count != 1, .noise: return 0
            case .boxes: return 20
            // Sizes and numbers of repetitions; the product of four stays below 2,401.
            case .edges where isAmongOthers && (2...4).contains(count ?? 0): return 2 + level % 6
            case .halves: return 1 + level % 3
            default: return level < 128 ? 0 : 1
            }
        }
        let level = pattern == .edges ? [0, 128, 255][level % 3] : level
        return level < 128 ? 0 : 1
    }
}
