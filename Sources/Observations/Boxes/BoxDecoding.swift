/// The way in which the raw outputs of a detector are read. `init(layout:)` sets what is usual for a family; each part can then
/// be changed.
package struct BoxDecoding: Sendable, Hashable {
    /// The family of detectors.
    package var layout: BoxLayout
    /// The meaning of the four numbers of a box.
    package var form: BoxForm
    /// The unit of boxes.
    package var units: BoxUnits
    /// The form of the scores before they are compared with the threshold.
    package var scores: ScoreForm
    /// Which class means that nothing is there. Indices of detections do not count it.
    package var background: BackgroundClass
    /// The least confidence of a detection, 0 to 1.
    package var threshold: Float
    /// The overlap (intersection over union) from which the less confident of two boxes is dropped, 0 to 1.
    package var iou: Float
    /// Which boxes can suppress each other.
    package var suppression: SuppressionScope
    /// The most detections of a picture.
    package var maxDetections: Int
    /// The most detections of one class, where suppression is per class; nil for no limit.
    package var maxDetectionsOfClass: Int?
    /// True if one box can be several detections, one for each class over the threshold. Otherwise only its best class counts.
    package var multiLabel: Bool
    /// The axis order of a single tensor that holds everything; nil finds it by the number of classes.
    package var order: RowOrder?
    /// The cells' sizes in pixels of the tensor, level by level: `yolox`, `fcos`.
    package var strides: [Int]
    /// Rows of each cell, which follow one another: `fcos`.
    package var anchors = 1
    /// The position of a cell's point within it, from which distances count: `fcos`. 0.5 is the middle, 0 the top left corner.
    package var offset: Float = 0.5
    /// The boxes that offsets refer to: `ssd`, `retinanet`. Nil if a tensor of the model holds them.
    package var priors: PriorBoxes?
    /// The factors that encoded offsets are multiplied by: centre x, centre y, width, height (`ssd`, `retinanet`).
    package var variances: [Float]
    /// Numbers that follow the classes of each row: coefficients of masks, coordinates of keypoints.
    package var extras: Int

    /// The usual decoding of a family.
    package init(layout: BoxLayout) {
        self.layout = layout
        form = .centers
        units = .pixels
        scores = .probabilities
        background = .none
        threshold = 0.25
        iou = 0.45
        suppression = .perClass
        maxDetections = 300
        multiLabel = false
        strides = []
        variances = [1, 1, 1, 1]
        extras = 0
        switch layout {
        case .yolov5, .yolov8: break
        case .yolox: strides = [8, 16, 32]
        case .endToEnd:
            form = .corners
            suppression = .none
        case .tfliteDetection:
            form = .cornersYX
            units = .fractions
            suppression = .none
        case .detectionOutput:
            form = .corners
            units = .fractions
            suppression = .none
        case .scoredBoxes:
            form = .corners
            suppression = .none
        case .corners:
            form = .corners
            units = .fractions
            threshold = 0.5
        case .ssd:
            scores = .softmax
            background = .first
            variances = [0.1, 0.1, 0.2, 0.2]
        case .detr:
            units = .fractions
            scores = .softmax
            background = .last
            suppression = .none
            threshold = 0.5
        case .retinanet:
            scores = .sigmoid
            multiLabel = true
            iou = 0.5
        case .fcos:
            scores = .sigmoid
            multiLabel = true
            iou = 0.6
            strides = [8, 16, 32, 64, 128]
        }
    }
}

/// Families of detectors, by what their outputs look like. The raw values are those of model.json.
package enum BoxLayout: String, Sendable, CaseIterable {
    /// Rows of box, objectness and classes: `[1, n, 5 + classes]`.
    case yolov5
    /// Box and classes, without objectness: `[1, 4 + classes, n]` or `[1, n, 4 + classes]`.
    case yolov8
    /// Final detections: rows of corners, score, class: `[1, n, 6]` (YOLOv10, YOLO26, exports with suppression inside).
    case endToEnd = "yolo-end-to-end"
    /// As `yolov5`, with boxes relative to grid cells: centre `(xy + cell) * stride`, size `exp(wh) * stride`.
    case yolox
    /// Offsets from prior boxes `[1, n, 4]`, and scores `[1, n, classes]`.
    case ssd
    /// Final detections in four tensors: boxes, classes, scores, and their number (TFLite_Detection_PostProcess).
    case tfliteDetection = "tflite-detection"
    /// Final detections in one tensor of OpenVINO's DetectionOutput: `[1, 1, n, 7]`, rows of picture, class, score, corners. A picture
    /// below 0 ends them.
    case detectionOutput = "detection-output"
    /// Final detections `[1, n, 5]`, rows of corners and score, and the class of each `[1, n]` (OpenVINO Training Extensions).
    case scoredBoxes = "scored-boxes"
    /// Logits `[1, n, classes]` and boxes `[1, n, 4]`, one row for a query.
    case detr
    /// Scores and offsets from anchors, level by level or concatenated.
    case retinanet
    /// Scores, distances to the four sides and centerness, level by level or concatenated.
    case fcos
    /// Scores `[1, n, classes]` and finished boxes `[1, n, 4]`.
    case corners

    /// The tensors that it reads, as `tensors` in model.json names them; the optional ones apart.
    package var roles: (required: [String], optional: [String]) {
        switch self {
        case .yolov5, .yolov8, .endToEnd, .yolox, .detectionOutput: (["output"], [])
        case .scoredBoxes: (["boxes"], ["classes"])
        case .ssd: (["boxes", "scores"], ["priors"])
        case .tfliteDetection: (["boxes", "classes", "scores"], ["count"])
        case .detr, .corners, .retinanet: (["boxes", "scores"], [])
        case .fcos: (["boxes", "scores"], ["centerness", "points"])
        }
    }

    /// The forms that its boxes can have.
    package var forms: [BoxForm] {
        switch self {
        case .ssd, .retinanet: [.centers, .centersYX]
        case .yolox: [.centers]
        default: BoxForm.allCases
        }
    }

    /// True if each box has one score, and its class as a number.
    package var hasClassNumbers: Bool {
        [.endToEnd, .tfliteDetection, .detectionOutput, .scoredBoxes].contains(self)
    }

    /// True if a role may be spread over several tensors, one for a level.
    package var hasLevels: Bool { self == .retinanet || self == .fcos }
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
}

/// The axis order of one tensor that holds everything.
package enum RowOrder: String, Sendable, CaseIterable {
    /// `[n, values]`: a detection's numbers follow each other.
    case rows
    /// `[values, n]`: a value of all detections follows another.
    case columns
}
