/// The families of detectors, each with a predefined head. docs/model-json.md lists their models.
package enum BoxLayout: String, Sendable, CaseIterable {
    case yolov5, yolov8, yolox, ssd, detr, retinanet, fcos
    /// Final detections: in one tensor, in four, in one with the index of the picture, in one of boxes and one of
    /// classes.
    case endToEnd = "yolo-end-to-end"
    /// Turned boxes, before and after the choice of the final ones.
    case turned = "yolo-obb"
    case turnedEndToEnd = "yolo-obb-end-to-end"
    case tfliteDetection = "tflite-detection"
    case detectionOutput = "detection-output"
    case scoredBoxes = "scored-boxes"
    /// Decoded boxes with a score for each class.
    case corners
    /// Feature maps before decoding.
    case yolov3Maps = "yolov3-maps"
    case yolov5Maps = "yolov5-maps"
    case yolov8Maps = "yolov8-maps"
    case nanodet, picodet, rtmdet, scrfd, yunet, blazeface, fastestdet, centernet
    case damoYOLO = "damo-yolo"
}

extension BoxDecoding {
    /// Darknet's anchors for COCO, which YOLOv5 uses, too. Computed, not stored: LeakSanitizer reports memory as leaked
    /// if only the payload of an enum refers to it, because that pointer has tag bits.
    private static var cocoAnchors: PriorBoxes {
        .grid([
            .init(stride: 8, boxes: [[10, 13], [16, 30], [33, 23]], offset: 0),
            .init(stride: 16, boxes: [[30, 61], [62, 45], [59, 119]], offset: 0),
            .init(stride: 32, boxes: [[116, 90], [156, 198], [373, 326]], offset: 0),
        ])
    }

    private static let pairs = [HeadTensor("boxes", [.box]), HeadTensor("scores", [.scores])]
    private static let points = HeadTensor("points", [.extras], isOptional: true)

    /// The head of a family.
    ///
    /// Long: a flat table, a case for each family.
    package init(layout: BoxLayout) {
        self.init()
        let cells = [8, 16, 32]
        switch layout {
        case .yolov5, .yolov8, .endToEnd, .turned, .turnedEndToEnd, .yolox, .ssd, .tfliteDetection, .detectionOutput,
            .scoredBoxes, .detr,
            .corners:
            hasLevels = false
        default: break
        }
        tensors = Self.pairs
        switch layout {
        case .yolov5: output([.box, .objectness, .scores, .extras])
        case .yolov8: output([.box, .scores, .extras])
        case .yolox:
            output([.box, .objectness, .scores, .extras])
            (coding, strides, offset) = (BoxCoding(.offsets), cells, 0)
        case .endToEnd:
            output([.box, .score, .label, .extras])
            (form, suppression) = (.corners, .none)
        case .turned: output([.box, .scores, .angle])
        case .turnedEndToEnd:
            output([.box, .score, .label, .angle])
            suppression = .none
        case .scoredBoxes:
            tensors = [HeadTensor("boxes", [.box, .score]), HeadTensor("classes", [.label], isOptional: true)]
            (form, suppression) = (.corners, .none)
        case .tfliteDetection:
            tensors = [HeadTensor("boxes", [.box]), HeadTensor("classes", [.label]), HeadTensor("scores", [.score])]
            tensors.append(HeadTensor("count", [], isOptional: true))
            (form, units, suppression) = (.cornersYX, .fractions, .none)
        case .detectionOutput:
            output([.picture, .label, .score, .box])
            (form, units, suppression) = (.corners, .fractions, .none)
        case .corners: (form, units, threshold) = (.corners, .fractions, 0.5)
        case .ssd:
            tensors += [HeadTensor("priors", [], isOptional: true), Self.points]
            (coding, scores, background) = (BoxCoding(.offsets), .softmax, .first)
            (variances, points) = ([0.1, 0.1, 0.2, 0.2], PriorPoints(scale: 0.1))
        case .detr:
            (units, scores, background, suppression, threshold) = (.fractions, .softmax, .last, .none, 0.5)
        case .retinanet:
            tensors.append(Self.points)
            (coding, priors, points) = (BoxCoding(.offsets), .retinanet, PriorPoints())
            // torchvision's limit: log(1000 / 16).
            coding.largestExponent = 4.135_166_6
            (scores, multiLabel, iou) = (.sigmoid, true, 0.5)
        case .fcos:
            tensors += [HeadTensor("centerness", [.objectness], isOptional: true), Self.points]
            (coding, strides, points) = (BoxCoding(.distances), cells + [64, 128], PriorPoints())
            (scores, multiLabel, weights, iou) = (.sigmoid, true, .root, 0.6)
        case .scrfd:
            tensors.append(Self.points)
            (coding, units, strides, anchors, offset) = (BoxCoding(.distances), .fractions, cells, 2, 0)
            (threshold, iou, points) = (0.5, 0.4, PriorPoints())
        case .yolov3Maps, .yolov5Maps:
            output([.box, .objectness, .scores, .extras])
            (coding, scores, priors) = (BoxCoding(.offsets), .sigmoid, Self.cocoAnchors)
            (coding.centers, coding.inCells) = (.sigmoid, true)
            if layout == .yolov5Maps { (coding.centerScale, coding.sizes) = (2, .squaredSigmoid) }
        case .yolov8Maps:
            output([.box, .scores, .extras])
            (coding, units, scores, strides) = (BoxCoding(.distances, bins: 16), .fractions, .sigmoid, cells)
        case .nanodet:
            output([.scores, .box])
            (coding, units, strides, offset, iou) = (BoxCoding(.distances, bins: 8), .fractions, cells + [64], 0, 0.6)
            coding.clips = true
        case .picodet: (coding, units, strides, iou) = (BoxCoding(.distances, bins: 8), .fractions, cells + [64], 0.6)
        case .damoYOLO:
            (coding, units, strides, offset, iou) = (BoxCoding(.distances, bins: 17), .fractions, cells, 0, 0.6)
        case .rtmdet:
            (coding, scores, strides, offset, iou) = (BoxCoding(.distances), .sigmoid, cells, 0, 0.65)
            coding.clips = true
        case .yunet:
            tensors += [HeadTensor("objectness", [.objectness]), Self.points]
            (coding, weights, strides, offset, points) = (BoxCoding(.offsets), .root, cells, 0, PriorPoints())
            (threshold, iou) = (0.6, 0.3)
        case .blazeface:
            tensors[0].parts = [.box, .extras]
            (coding, points) = (BoxCoding(.offsets), PriorPoints())
            coding.sizes = .linear
            priors = .grid([(8, 2), (16, 6)].map { .init(stride: $0, boxes: Array(repeating: [1, 1], count: $1)) })
            (scores, threshold, iou, suppression) = (.sigmoid, 0.5, 0.3, .weighted)
        case .fastestdet:
            output([.objectness, .box, .scores])
            (coding, strides, offset) = (BoxCoding(.offsets), [16], 0)
            (coding.centers, coding.sizes, coding.inCells, coding.ofPicture) = (.tanh, .sigmoid, true, true)
            weights = ScoreWeights(objectness: 0.6, classes: 0.4)
        case .centernet:
            tensors = [HeadTensor("sizes", [.sizes]), HeadTensor("centers", [.centers]), Self.pairs[1]]
            (coding, strides, offset) = (BoxCoding(.offsets), [4], 0)
            coding.sizes = .linear
            (scores, multiLabel, suppression) = (.sigmoid, true, .peaks)
        }
    }

    private mutating func output(_ parts: [RowPart]) { tensors = [HeadTensor("output", parts)] }
}
