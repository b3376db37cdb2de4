/// A detector's head by its parts: where the numbers of a row lie, how they stand for a box and a score, and what suppresses what.
/// `init(layout:)` is the description that the name of a family stands for; each part can then be changed.
package struct BoxDecoding: Sendable, Hashable {
    /// The parts of a row in each tensor. The first tensor sets the number of rows.
    package var tensors: [HeadTensor] = []
    /// True if a tensor may be several, one for each level.
    package var hasLevels = true
    /// How a row's numbers stand for a box.
    package var coding = BoxCoding()
    /// The meaning of the four numbers of a box.
    package var form = BoxForm.centers
    /// The unit of boxes. Distances in `fractions` are multiples of the prior; one of `strides` is as large as its cell.
    package var units = BoxUnits.pixels
    /// The form of the scores before they are compared with the threshold.
    package var scores = ScoreForm.probabilities
    /// How much objectness and class count in the product that is the confidence.
    package var weights = ScoreWeights.product
    /// Which class means that nothing is there. Indices of detections do not count it.
    package var background = BackgroundClass.none
    /// The least confidence of a detection, 0 to 1.
    package var threshold: Float = 0.25
    /// The overlap (intersection over union) from which the less confident of two boxes is dropped, 0 to 1.
    package var iou: Float = 0.45
    /// Which boxes can suppress each other.
    package var suppression = SuppressionScope.perClass
    /// The most detections of a picture.
    package var maxDetections = 300
    /// The most detections of one class, where suppression is per class; nil for no limit.
    package var maxDetectionsOfClass: Int?
    /// True if one box can be several detections, one for each class over the threshold. Otherwise only its best class counts.
    package var multiLabel = false
    /// The axis order of a tensor of rows; nil finds it by the number of classes.
    package var order: RowOrder?
    /// The cells' sizes in pixels of the tensor, level by level, where there are no `priors`.
    package var strides: [Int] = []
    /// Rows of each cell, which follow one another: for `strides`.
    package var anchors = 1
    /// The position of a cell's point within it, from which boxes count: 0.5 is the middle, 0 the top left corner. For `strides`.
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
    package var role: String
    /// What each of its rows holds, in order. None for tensors that do not have a row for each box.
    package var parts: [RowPart]
    package var isOptional = false

    /// A tensor.
    package init(_ role: String, _ parts: [RowPart], isOptional: Bool = false) {
        self.role = role
        self.parts = parts
        self.isOptional = isOptional
    }
}

/// A part of a row. The raw values are those of `row` in model.json.
package enum RowPart: String, Sendable, CaseIterable {
    /// Four numbers, or four distributions.
    case box
    /// The first two numbers of a box, and its last two, where they are apart.
    case centers, sizes
    /// One number: that anything is there.
    case objectness
    /// A score of each class.
    case scores
    /// The only score.
    case score
    /// The class as a number.
    case label = "class"
    /// The number of the picture; below 0 it marks the row behind the last one.
    case picture
    /// Coefficients of a mask, then points.
    case extras
    /// One number that is not read.
    case unread = "_"
}

/// How a row's numbers stand for a box.
package struct BoxCoding: Sendable, Hashable {
    /// The raw values are those of `coding` in model.json.
    package enum Kind: String, Sendable, CaseIterable {
        /// The box itself.
        case boxes
        /// A centre and a size, relative to a prior.
        case offsets
        /// Distances from the prior's centre to left, top, right and bottom.
        case distances
    }

    package enum CenterCurve: String, Sendable, CaseIterable { case linear, sigmoid, tanh }

    package enum SizeCurve: String, Sendable, CaseIterable {
        case exponential, linear, sigmoid
        /// (2 sigmoid)^2
        case squaredSigmoid = "squared_sigmoid"
    }

    package var kind = Kind.boxes
    package var centers = CenterCurve.linear
    /// With `sigmoid`: the length of the range of a centre in cells, whose middle is the cell's.
    package var centerScale: Float = 1
    /// True if centres and points are multiples of the cell, and not of the prior.
    package var inCells = false
    package var sizes = SizeCurve.exponential
    /// True if sizes are parts of the picture, and not multiples of the prior.
    package var ofPicture = false
    /// Exponents of sizes are cut to this.
    package var largestExponent = Float.infinity
    /// True if boxes are cut to the picture before they suppress each other.
    package var clips = false
    /// Each distance is the mean of a distribution over 0, 1 ... `bins` - 1, given as logits; 1 for the distance itself.
    package var bins = 1

    /// Finished boxes.
    package init() {}

    /// One with the usual curves.
    init(_ kind: Kind, bins: Int = 1) {
        self.kind = kind
        self.bins = bins
    }
}

/// The confidence is objectness and class score, each to the power of its weight, multiplied.
package struct ScoreWeights: Sendable, Hashable {
    package var objectness: Float, classes: Float
    package static let product = ScoreWeights(objectness: 1, classes: 1)
    package static let root = ScoreWeights(objectness: 0.5, classes: 0.5)

    /// Both are greater than 0.
    package init(objectness: Float, classes: Float) {
        self.objectness = objectness
        self.classes = classes
    }
}

/// Points of a row that count from its prior's centre, in multiples of the prior's size.
package struct PriorPoints: Sendable, Hashable {
    /// The place of the first one among the row's extras.
    package var first = 0
    package var order = PointOrder.xy
    package var scale: Float = 1

    /// All extras, x and y in turn.
    package init(scale: Float = 1) { self.scale = scale }
}

/// The meaning of the four numbers of a box.
package enum BoxForm: String, Sendable, CaseIterable {
    /// Centre x, centre y, width, height.
    case centers
    /// Left, top, right, bottom.
    case corners
    /// Top, left, bottom, right.
    case cornersYX = "corners_yx"
    /// Left, top, width, height.
    case topLeft = "top_left"
    /// Centre y, centre x, height, width.
    case centersYX = "centers_yx"
}

/// The unit of boxes and points.
package enum BoxUnits: String, Sendable, CaseIterable {
    /// Pixels of the input tensor.
    case pixels
    /// Parts of the input tensor's sides, 0 to 1.
    case fractions
}

/// The form of scores.
package enum ScoreForm: String, Sendable, CaseIterable {
    /// Confidences already.
    case probabilities
    /// Logits, each on its own.
    case sigmoid
    /// Logits of one distribution over the classes.
    case softmax
}

/// The place of the class that stands for nothing.
package enum BackgroundClass: String, Sendable, CaseIterable {
    case none, first, last
}

/// Which boxes can suppress each other.
package enum SuppressionScope: String, Sendable, CaseIterable {
    /// No suppression: the model has done it, or needs none.
    case none
    /// Boxes of the same class.
    case perClass = "per_class"
    /// All boxes.
    case all
    /// Boxes of the same class; the box and the points that stay are the mean of all that overlap, weighted by their confidences.
    case weighted
    /// Cells of a map: one stays where none of its eight neighbours has a greater score.
    case peaks
}

/// The axis order of one tensor that holds everything.
package enum RowOrder: String, Sendable, CaseIterable {
    /// `[n, values]`: a detection's numbers follow each other.
    case rows
    /// `[values, n]`: a value of all detections follows another.
    case columns
}
