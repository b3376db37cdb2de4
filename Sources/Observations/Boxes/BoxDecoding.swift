/// A detector's head by its parts: where the numbers of a row lie, how they stand for a box and a score, and what
/// suppresses what. `init(layout:)` is the description that a family's name stands for; each part can be changed.
package struct BoxDecoding: Sendable, Hashable {
    /// The parts of a row in each tensor. The first tensor sets the number of rows.
    package var tensors: [HeadTensor] = []
    /// True if a tensor may be several, one for each level.
    package var hasLevels = true
    package var coding = BoxCoding(), form = BoxForm.centers
    /// The unit of boxes. Distances in `fractions` are multiples of the prior; one of `strides` is its cell's size.
    package var units = BoxUnits.pixels
    package var scores = ScoreForm.probabilities, weights = ScoreWeights.product
    /// The class that means that nothing is there. Indices of detections do not count it.
    package var background = BackgroundClass.none
    /// The least confidence of a detection; the overlap (IoU, 0 to 1) from which the less confident box is dropped.
    package var threshold: Float = 0.25, iou: Float = 0.45
    package var suppression = SuppressionScope.perClass
    /// The most detections of a picture, and, where suppression is per class, of one class; nil for no limit.
    package var maxDetections = 300, maxDetectionsOfClass: Int?
    /// True if one box can be several detections, one for each class over the threshold, and not its best class alone.
    package var multiLabel = false
    /// The axis order of a tensor of rows; nil finds it by the number of classes.
    package var order: RowOrder?
    /// The cells' sizes where there are no `priors`, in the tensor's pixels, level by level, and the rows of each cell.
    package var strides: [Int] = [], anchors = 1
    /// The place of a cell's point within it, from which boxes of `strides` count: 0.5 is the middle, 0 the top left.
    package var offset: Float = 0.5
    /// The boxes that encoded ones refer to. Nil if they are cells of `strides`, or a tensor of the model holds them.
    package var priors: PriorBoxes?
    /// The factors that offsets are multiplied by: centre x, centre y, width, height.
    package var variances: [Float] = [1, 1, 1, 1]
    /// Numbers of a row beside box and classes: coefficients of masks, then coordinates of keypoints.
    package var extras = 0
    /// The points among the extras that count from the prior; nil if theirs are places in the picture.
    package var points: PriorPoints?

    /// A head of finished boxes, of which nothing else is known.
    package init() {}

    /// The cells of each level, with the boxes that are laid out on them.
    var grid: [PriorBoxes.Level] {
        if case .grid(let levels)? = priors { return levels }
        return strides.map { stride in
            let side = coding.kind == .distances && units == .pixels ? 1 : Float(stride)
            return PriorBoxes.Level(
                stride: stride, boxes: [[Float]](repeating: [side, side], count: anchors), offset: offset)
        }
    }

    /// The tensors that it reads, as `tensors` in model.json names them; the optional ones apart.
    package var roles: (required: [String], optional: [String]) {
        (tensors.filter { !$0.isOptional }.map(\.role), tensors.filter(\.isOptional).map(\.role))
    }

    /// True if each box has one score, and its class as a number or none.
    package var hasClassNumbers: Bool { tensors.contains { $0.parts.contains(.score) } }

    /// The forms that its boxes can have.
    package var forms: [BoxForm] { coding.kind == .offsets ? [.centers, .centersYX] : BoxForm.allCases }
}

/// One of a head's tensors, by its role, or one for each level.
package struct HeadTensor: Sendable, Hashable {
    package var role: String, isOptional = false
    /// The parts of each of its rows, in order. None for tensors that do not have a row for each box.
    package var parts: [RowPart]

    /// A tensor.
    package init(_ role: String, _ parts: [RowPart], isOptional: Bool = false) {
        (self.role, self.parts, self.isOptional) = (role, parts, isOptional)
    }
}

/// A part of a row. The raw values are those of `row` in model.json.
package enum RowPart: String, Sendable, CaseIterable {
    /// Four numbers, or four distributions; its first and its last two, where they are apart.
    case box, centers, sizes
    /// That anything is there; a score of each class; the only score.
    case objectness, scores, score
    /// The class as a number; the number of the picture, which below 0 marks the row behind the last one.
    case label = "class"
    case picture
    /// Coefficients of a mask, then points.
    case extras
    /// One number that is not read.
    case unread = "_"
}

/// The way a row's numbers stand for a box. The raw values are those of model.json.
package struct BoxCoding: Sendable, Hashable {
    /// The box itself; a centre and a size, relative to a prior; distances from its centre to left, top, right, bottom.
    package enum Kind: String, Sendable, CaseIterable { case boxes, offsets, distances }

    package enum CenterCurve: String, Sendable, CaseIterable { case linear, sigmoid, tanh }

    package enum SizeCurve: String, Sendable, CaseIterable {
        case exponential, linear, sigmoid
        /// (2 sigmoid)^2
        case squaredSigmoid = "squared_sigmoid"
    }

    package var kind = Kind.boxes, centers = CenterCurve.linear, sizes = SizeCurve.exponential
    /// With `sigmoid`: the length of the range of a centre in cells, whose middle is the cell's.
    package var centerScale: Float = 1
    /// True if centres and points are multiples of the cell, and not of the prior; if sizes are parts of the picture,
    /// and not multiples of the prior; if boxes are cut to the picture before they suppress each other.
    package var inCells = false, ofPicture = false, clips = false
    /// Exponents of sizes are cut to this.
    package var largestExponent = Float.infinity
    /// A distance is the mean of a distribution over 0, 1 ... `bins` - 1, given as logits; 1 for a plain one.
    package var bins = 1

    /// Finished boxes.
    package init() {}

    /// One with the usual curves.
    init(_ kind: Kind, bins: Int = 1) { (self.kind, self.bins) = (kind, bins) }
}

/// The confidence is objectness and class score, each to the power of its weight, multiplied.
package struct ScoreWeights: Sendable, Hashable {
    package var objectness: Float, classes: Float
    package static let product = Self(objectness: 1, classes: 1), root = Self(objectness: 0.5, classes: 0.5)

    /// Both are greater than 0.
    package init(objectness: Float, classes: Float) { (self.objectness, self.classes) = (objectness, classes) }
}

/// Points of a row that count from its prior's centre, in multiples of the prior's size times `scale`.
package struct PriorPoints: Sendable, Hashable {
    /// The place of the first one among the row's extras; the order of its numbers.
    package var first = 0, order = PointOrder.xy, scale: Float = 1

    /// All extras, x and y in turn.
    package init(scale: Float = 1) { self.scale = scale }
}

/// The meaning of the four numbers of a box: centre x and y, width, height; left, top, right, bottom; left, top, width,
/// height. With `yx`, y comes before x, and heights before widths.
package enum BoxForm: String, Sendable, CaseIterable {
    case centers, corners
    case cornersYX = "corners_yx"
    case topLeft = "top_left"
    case centersYX = "centers_yx"
}

/// The unit of boxes and points: pixels of the input tensor, or parts of its sides, 0 to 1.
package enum BoxUnits: String, Sendable, CaseIterable { case pixels, fractions }

/// The form of scores: confidences already, logits each on its own, or logits of one distribution over the classes.
package enum ScoreForm: String, Sendable, CaseIterable { case probabilities, sigmoid, softmax }

/// The place of the class that stands for nothing.
package enum BackgroundClass: String, Sendable, CaseIterable { case none, first, last }

/// The boxes that can suppress each other: of one class, all, or none, where the model has done it or needs none.
package enum SuppressionScope: String, Sendable, CaseIterable {
    case none
    case perClass = "per_class"
    case all
    /// Boxes of the same class; what stays is the mean of all that overlap, weighted by their confidences.
    case weighted
    /// Cells of a map: one stays where none of its eight neighbours has a greater score.
    case peaks
}

/// The axis order of one tensor that holds everything: `[n, values]`, or `[values, n]`.
package enum RowOrder: String, Sendable, CaseIterable { case rows, columns }
