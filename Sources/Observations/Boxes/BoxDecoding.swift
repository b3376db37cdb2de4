/// A description of a detector's head: the position of the numbers in a row, their conversion to a box and a score, and
/// the suppression. `init(layout:)` sets the description of a family of detectors; each part can be changed afterwards.
package struct BoxDecoding: Sendable, Hashable {
    /// The row parts in each tensor. The first tensor determines the number of rows.
    package var tensors: [HeadTensor] = []
    /// True if there may be a tensor for each level.
    package var hasLevels = true
    package var coding = BoxCoding(), form = BoxForm.centers
    /// The unit of boxes. Distances in `fractions` are multiples of the prior's size; a unit of `strides` is the size
    /// of its cell.
    package var units = BoxUnits.pixels
    package var scores = ScoreForm.probabilities, weights = ScoreWeights.product
    /// The class that means background. Class indices of detections do not count it.
    package var background = BackgroundClass.none
    /// The minimum confidence of a detection; the overlap (IoU, 0 to 1) above which the less confident box is dropped.
    package var threshold: Float = 0.25, iou: Float = 0.45
    package var suppression = SuppressionScope.perClass
    /// The maximum number of detections in a picture and, if suppression is per class, in one class; nil for no limit.
    package var maxDetections = 300, maxDetectionsOfClass: Int?
    /// True if a box yields one detection for each class over the threshold, false if only for its best class.
    package var multiLabel = false
    /// The axis order of a tensor of rows; nil derives it from the number of classes.
    package var order: RowOrder?
    /// Without `priors`: the cell size of each level in pixels of the tensor, and the number of rows for each cell.
    package var strides: [Int] = [], anchors = 1
    /// The position of a cell's point within it, to which boxes of `strides` are relative: 0.5 is the center, 0 the top
    /// left.
    package var offset: Float = 0.5
    /// The priors that encoded boxes are relative to; nil if they are cells of `strides`, or in a tensor of the model.
    package var priors: PriorBoxes?
    /// The factors of offsets: center x, center y, width, height.
    package var variances: [Float] = [1, 1, 1, 1]
    /// The number of extras in a row, in addition to box and classes: mask coefficients, then keypoint coordinates.
    package var extras = 0
    /// The points among the extras that are relative to the prior; nil if points are absolute.
    package var points: PriorPoints?

    /// A head of decoded boxes without further options.
    package init() {}

    /// The cells of each level, with their priors.
    var grid: [PriorBoxes.Level] {
        if case .grid(let levels)? = priors { return levels }
        return strides.map { stride in
            let side = coding.kind == .distances && units == .pixels ? 1 : Float(stride)
            return PriorBoxes.Level(
                stride: stride, boxes: [[Float]](repeating: [side, side], count: anchors), offset: offset)
        }
    }

    /// The tensors that it reads, by their names in `tensors` of model.json: required and optional.
    package var roles: (required: [String], optional: [String]) {
        (tensors.filter { !$0.isOptional }.map(\.role), tensors.filter(\.isOptional).map(\.role))
    }

    /// True if its boxes are turned.
    package var hasAngles: Bool { tensors.contains { $0.parts.contains(.angle) } }

    /// True if a row has a single score, with a class number or without.
    package var hasClassNumbers: Bool { tensors.contains { $0.parts.contains(.score) } }

    /// The supported forms of boxes.
    package var forms: [BoxForm] {
        coding.kind == .offsets || hasAngles ? [.centers, .centersYX] : BoxForm.allCases
    }
}

/// A tensor of a head, by its role; there may be one for each level.
package struct HeadTensor: Sendable, Hashable {
    package var role: String, isOptional = false
    /// The parts of each of its rows, in order; empty for tensors without a row for each box.
    package var parts: [RowPart]

    package init(_ role: String, _ parts: [RowPart], isOptional: Bool = false) {
        (self.role, self.parts, self.isOptional) = (role, parts, isOptional)
    }
}

/// A part of a row. The raw values are those of `row` in model.json.
package enum RowPart: String, Sendable, CaseIterable {
    /// Four numbers, or four distributions; if they are in two tensors, the first two and the last two.
    case box, centers, sizes
    /// The probability of any object; a score for each class; a single score.
    case objectness, scores, score
    /// The class number; the index of the picture, which is negative in the row after the last one.
    case label = "class"
    case picture
    /// The angle of the box about its center, in radians, clockwise as seen.
    case angle
    /// Mask coefficients, then points.
    case extras
    /// A number that is ignored.
    case unread = "_"
}

/// The encoding of a box in a row. The raw values are those of model.json.
package struct BoxCoding: Sendable, Hashable {
    /// The box itself; a center and a size relative to a prior; distances from its center to left, top, right, bottom.
    package enum Kind: String, Sendable, CaseIterable { case boxes, offsets, distances }

    package enum CenterCurve: String, Sendable, CaseIterable { case linear, sigmoid, tanh }

    package enum SizeCurve: String, Sendable, CaseIterable {
        case exponential, linear, sigmoid
        /// (2 sigmoid)^2
        case squaredSigmoid = "squared_sigmoid"
    }

    package var kind = Kind.boxes, centers = CenterCurve.linear, sizes = SizeCurve.exponential
    /// With `sigmoid`: the length of the range of a center, in cells, around the center of the cell.
    package var centerScale: Float = 1
    /// True if: centers and points are multiples of the cell, not of the prior; sizes are fractions of the picture, not
    /// multiples of the prior; boxes are clipped to the picture before suppression.
    package var inCells = false, ofPicture = false, clips = false
    /// The maximum exponent of a size; greater ones are clamped.
    package var largestExponent = Float.infinity
    /// The number of bins: a distance is the mean of a distribution over 0, 1 ... `bins` - 1, given as logits; 1 for a
    /// plain number.
    package var bins = 1

    /// Decoded boxes.
    package init() {}

    /// A coding with the default curves.
    init(_ kind: Kind, bins: Int = 1) { (self.kind, self.bins) = (kind, bins) }
}

/// The weights of a confidence, which is objectness^`objectness` times class score^`classes`.
package struct ScoreWeights: Sendable, Hashable {
    package var objectness: Float, classes: Float
    package static let product = Self(objectness: 1, classes: 1), root = Self(objectness: 0.5, classes: 0.5)

    /// Both must be greater than 0.
    package init(objectness: Float, classes: Float) { (self.objectness, self.classes) = (objectness, classes) }
}

/// Points relative to the center of the prior, in multiples of the prior's size times `scale`.
package struct PriorPoints: Sendable, Hashable {
    /// The index of the first point's first number among the extras; the order of a point's numbers.
    package var first = 0, order = PointOrder.xy, scale: Float = 1

    /// All extras, as alternating x and y.
    package init(scale: Float = 1) { self.scale = scale }
}

/// The meaning of the four numbers of a box: center x and y, width, height; left, top, right, bottom; left, top, width,
/// height. With `yx`, y comes before x, and heights before widths.
package enum BoxForm: String, Sendable, CaseIterable {
    case centers, corners
    case cornersYX = "corners_yx"
    case topLeft = "top_left"
    case centersYX = "centers_yx"
}

/// The unit of boxes and points: pixels of the input tensor, or fractions of its sides, 0 to 1.
package enum BoxUnits: String, Sendable, CaseIterable { case pixels, fractions }

/// The form of scores: confidences, independent logits, or logits of one distribution over the classes.
package enum ScoreForm: String, Sendable, CaseIterable { case probabilities, sigmoid, softmax }

/// The index of the background class.
package enum BackgroundClass: String, Sendable, CaseIterable { case none, first, last }

/// The boxes that can suppress each other: those of one class, all, or none (if the model does it, or does not need
/// it).
package enum SuppressionScope: String, Sendable, CaseIterable {
    case none
    case perClass = "per_class"
    case all
    /// As per class, but the result is the mean of all overlapping boxes, weighted by confidence.
    case weighted
    /// Cells of a map: a cell is kept if none of its eight neighbors has a greater score.
    case peaks
}

/// The axis order of a single output tensor: `[n, values]`, or `[values, n]`.
package enum RowOrder: String, Sendable, CaseIterable { case rows, columns }
