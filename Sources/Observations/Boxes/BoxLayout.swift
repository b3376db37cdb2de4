/// Families of detectors: each name stands for a description of its head. docs/model-json.md tells which models they are.
package enum BoxLayout: String, Sendable, CaseIterable {
    case yolov5, yolov8, yolox, ssd, detr, retinanet, fcos
    /// Final detections: in one tensor, in four, in one with the number of the picture, in one of boxes and one of classes.
    case endToEnd = "yolo-end-to-end"
    case tfliteDetection = "tflite-detection"
    case detectionOutput = "detection-output"
    case scoredBoxes = "scored-boxes"
    /// Finished boxes, and a score of each class.
    case corners
    /// Maps before decoding.
    case yolov3Maps = "yolov3-maps"
    case yolov5Maps = "yolov5-maps"
    case yolov8Maps = "yolov8-maps"
    case nanodet, picodet, rtmdet, scrfd, yunet, blazeface, fastestdet, centernet
    case damoYOLO = "damo-yolo"
}

extension BoxDecoding {
    /// Darknet's anchors for COCO, which YOLOv5 took over. Not stored: LeakSanitizer takes what only an enum's payload refers to, a pointer
    /// with tag bits, for a leak.
    private static var cocoAnchors: PriorBoxes {
        .grid([
            .init(stride: 8, boxes: [[10, 13], [16, 30], [33, 23]], offset: 0),
            .init(stride: 16, boxes: [[30, 61], [62, 45], [59, 119]], offset: 0),
            .init(stride: 32, boxes: [[116, 90], [156, 198], [373, 326]], offset: 0),
        ])
    }

    private static let pairs = [HeadTensor("boxes", [.box]), HeadTensor("scores", [.scores])]
    private static let points = HeadTensor("points", [.extras], isOptional: true)

    /// The description that a family's name stands for.
    ///
    /// Long: a flat table, a case for each family.
    package init(layout: BoxLayout) {
        self.init()
        tensors = Self.pairs
        switch layout {
        case .yolov5, .yolox, .yolov3Maps, .yolov5Maps:
            tensors = [HeadTensor("output", [.box, .objectness, .scores, .extras])]
        case .yolov8, .yolov8Maps: tensors = [HeadTensor("output", [.box, .scores, .extras])]
        case .nanodet: tensors = [HeadTensor("output", [.scores, .box])]
        case .fastestdet: tensors = [HeadTensor("output", [.objectness, .box, .scores])]
        case .endToEnd: tensors = [HeadTensor("output", [.box, .score, .label, .extras])]
        case .detectionOutput: tensors = [HeadTensor("output", [.picture, .label, .score, .box])]
        case .tfliteDetection:
            tensors = [HeadTensor("boxes", [.box]), HeadTensor("classes", [.label]), HeadTensor("scores", [.score])]
            tensors.append(HeadTensor("count", [], isOptional: true))
        case .scoredBoxes:
            tensors = [HeadTensor("boxes", [.box, .score]), HeadTensor("classes", [.label], isOptional: true)]
        case .ssd: tensors += [HeadTensor("priors", [], isOptional: true), Self.points]
        case .fcos: tensors += [HeadTensor("centerness", [.objectness], isOptional: true), Self.points]
        case .yunet: tensors += [HeadTensor("objectness", [.objectness]), Self.points]
        case .blazeface: tensors[0].parts = [.box, .extras]
        case .centernet: tensors = [HeadTensor("sizes", [.sizes]), HeadTensor("centers", [.centers]), Self.pairs[1]]
        case .retinanet, .scrfd: tensors.append(Self.points)
        case .detr, .corners, .picodet, .damoYOLO, .rtmdet: break
        }
        let areOne: [BoxLayout] = [
            .yolov5, .yolov8, .endToEnd, .yolox, .ssd, .tfliteDetection, .detectionOutput, .scoredBoxes, .detr,
            .corners,
        ]
        hasLevels = !areOne.contains(layout)
        switch layout {
        case .yolov5, .yolov8: break
        case .yolox:
            coding = BoxCoding(.offsets)
            (strides, offset) = ([8, 16, 32], 0)
        case .endToEnd, .scoredBoxes: (form, suppression) = (.corners, .none)
        case .tfliteDetection: (form, units, suppression) = (.cornersYX, .fractions, .none)
        case .detectionOutput: (form, units, suppression) = (.corners, .fractions, .none)
        case .corners: (form, units, threshold) = (.corners, .fractions, 0.5)
        case .ssd:
            coding = BoxCoding(.offsets)
            (scores, background) = (.softmax, .first)
            variances = [0.1, 0.1, 0.2, 0.2]
            points = PriorPoints(scale: 0.1)
        case .detr:
            (units, scores, background, suppression, threshold) = (.fractions, .softmax, .last, .none, 0.5)
        case .retinanet:
            coding = BoxCoding(.offsets)
            // torchvision's bound: 1000 / 16.
            coding.largestExponent = 4.135_166_6
            priors = .retinanet
            points = PriorPoints()
            (scores, multiLabel, iou) = (.sigmoid, true, 0.5)
        case .fcos:
            coding = BoxCoding(.distances)
            (scores, multiLabel, weights, iou) = (.sigmoid, true, .root, 0.6)
            strides = [8, 16, 32, 64, 128]
            points = PriorPoints()
        case .scrfd:
            coding = BoxCoding(.distances)
            (units, strides, anchors, offset, threshold, iou) = (.fractions, [8, 16, 32], 2, 0, 0.5, 0.4)
            points = PriorPoints()
        case .yolov3Maps, .yolov5Maps:
            coding = BoxCoding(.offsets)
            (coding.centers, coding.inCells) = (.sigmoid, true)
            if layout == .yolov5Maps { (coding.centerScale, coding.sizes) = (2, .squaredSigmoid) }
            (scores, priors) = (.sigmoid, Self.cocoAnchors)
        case .yolov8Maps:
            coding = BoxCoding(.distances, bins: 16)
            (units, scores, strides) = (.fractions, .sigmoid, [8, 16, 32])
        case .nanodet, .picodet, .damoYOLO:
            coding = BoxCoding(.distances, bins: layout == .damoYOLO ? 17 : 8)
            (units, strides, iou) = (.fractions, layout == .damoYOLO ? [8, 16, 32] : [8, 16, 32, 64], 0.6)
            if layout != .picodet { offset = 0 }
            coding.clips = layout == .nanodet
        case .rtmdet:
            coding = BoxCoding(.distances)
            coding.clips = true
            (scores, strides, offset, iou) = (.sigmoid, [8, 16, 32], 0, 0.65)
        case .yunet:
            coding = BoxCoding(.offsets)
            (weights, strides, offset, threshold, iou) = (.root, [8, 16, 32], 0, 0.6, 0.3)
            points = PriorPoints()
        case .blazeface:
            coding = BoxCoding(.offsets)
            coding.sizes = .linear
            let box: [Float] = [1, 1]
            priors = .grid([
                .init(stride: 8, boxes: [box, box]), .init(stride: 16, boxes: [[Float]](repeating: box, count: 6)),
            ])
            (scores, threshold, iou, suppression) = (.sigmoid, 0.5, 0.3, .weighted)
            points = PriorPoints()
        case .fastestdet:
            coding = BoxCoding(.offsets)
            (coding.centers, coding.sizes, coding.inCells) = (.tanh, .sigmoid, true)
            (coding.ofPicture, strides, offset) = (true, [16], 0)
            weights = ScoreWeights(objectness: 0.6, classes: 0.4)
        case .centernet:
            coding = BoxCoding(.offsets)
            coding.sizes = .linear
            (scores, multiLabel, strides, offset, suppression) = (.sigmoid, true, [4], 0, .peaks)
        }
    }
}
