internal import FlowControl
internal import ImagePipeline
internal import JSON
internal import Observations
internal import SystemSupport

/// Reads the results of a request from a model's outputs, and maps them to the picture.
struct ObservationReader: Sendable {
    private let plan: ObservationPlan
    private let request: ObservationRequest
    private let options: PredictionOptions
    private let requestedClasses: Set<Int>?
    private let model: String

    /// The maximum number of run lengths of all masks of one picture.
    private static let maximumRuns = 2_000_000

    /// - Parameter model: the model's name.
    /// - Throws: if the model has no class of a requested name.
    init(
        _ plan: ObservationPlan, model: String, request: ObservationRequest, options: PredictionOptions
    ) throws(InferenceError) {
        self.plan = plan
        self.request = request
        self.options = options
        self.model = model
        requestedClasses = try request.classes.map { (names) throws(InferenceError) in
            try Self.classes(names, labels: plan.output.labels)
        }
    }

    private static func classes(_ names: [String], labels: [String]?) throws(InferenceError) -> Set<Int> {
        var requestedClasses: Set<Int> = []
        for name in names {
            let places = (labels ?? []).indices.filter { labels?[$0] == name }
            if !places.isEmpty {
                requestedClasses.formUnion(places)
            } else if let index = Int(name), index >= 0, labels.map({ index < $0.count }) ?? true {
                requestedClasses.insert(index)
            } else {
                let hint = Spelling.hint(for: name, among: labels ?? [])
                throw .invalidInput(
                    name: "classes", reason: "expected \(expected(labels)), found \"\(name.prefix(60))\"\(hint)")
            }
        }
        return requestedClasses
    }

    /// The values that exist: a few labels by name, many by their number.
    private static func expected(_ labels: [String]?) -> String {
        guard let labels, !labels.isEmpty else { return "a number" }
        let numbers = labels.count == 1 ? "the number 0" : "a number from 0 to \(labels.count - 1)"
        let maximumNamed = 10
        guard labels.count <= maximumNamed else { return "one of \(labels.count) labels, or \(numbers)" }
        let names = labels.map { "\"\($0.prefix(60))\"" }.joined(separator: ", ")
        return (labels.count == 1 ? names : "one of \(names)") + ", or \(numbers)"
    }

    // MARK: Reading

    func result(
        in outputs: any EngineOutputs, image: ImageInfo?, times: StageTimes
    ) throws(InferenceError) -> ObservationResult {
        guard let image else { throw .unsupported(model: model, reason: "does not take one image") }
        let start = MonotonicInstant.now
        let decoding = ImageDecodeOptions(options)
        let plan = plan.resolved(for: image, options: decoding)
        let mapping = PictureMapping(image, spec: plan.spec, options: decoding)
        var picture = PictureMap(
            x: AxisMap(mapping.x, side: plan.spec.width), y: AxisMap(mapping.y, side: plan.spec.height))
        // A class mask stays in the coordinates of the part: in those of the whole picture it would be nearly empty.
        if let place = options.place, request.task != .segment { picture = picture.placed(place) }
        let patches = request.readsPatches ? try plan.patchVectors(of: outputs) : nil
        let content = try plan.withTensors(of: outputs) { (tensors) throws(InferenceError) in
            do throws(ObservationError) {
                return try self.content(tensors, plan, in: picture)
            } catch {
                throw plan.inferenceError(error)
            }
        }
        var times = times
        times.postprocess = MonotonicInstant.now.nanoseconds(since: start)
        var result = ObservationResult(
            content: content, image: image,
            displayed: ImageSize(width: mapping.x.length, height: mapping.y.length), seen: picture.seen, times: times)
        result.patches = patches.map { PicturePatches(vectors: $0, area: picture.area(of: plan.spec)) }
        return result
    }

    private func isCancelled() -> Bool {
        Task.isCancelled || options.deadline.hasPassed
    }

    private func content(
        _ tensors: [String: [OutputTensor]], _ plan: ObservationPlan, in picture: PictureMap
    ) throws(ObservationError) -> ObservationResult.Content {
        // Models that suppress boxes themselves may return tensors without rows.
        if case .boxes = plan.output.kind, tensors.values.joined().contains(where: \.values.isEmpty) {
            return .detections([])
        }
        let decoder: ObservationPlan.Decoder
        if let known = plan.decoder {
            decoder = known
        } else {
            decoder = try plan.makeDecoder(tensors.mapValues { $0.map(\.shape) })
        }
        guard let output = tensors["output"]?.first else {
            guard case .boxes(let boxes, let masks) = decoder else {
                throw .unexpected(role: "output", expected: "a tensor", found: "none")
            }
            return try detections(boxes, masks, tensors, plan, picture)
        }
        switch decoder {
        case .boxes(let boxes, let masks): return try detections(boxes, masks, tensors, plan, picture)
        case .mask(let mask):
            let map = try mask.map(output, threshold: request.threshold, isCancelled: isCancelled)
            return .mask(PictureMask(map, in: picture), labels: plan.output.labels)
        case .keypoints(let keypoints):
            let points = try keypoints.keypoints(output, threshold: request.threshold, isCancelled: isCancelled)
            guard case .keypoints(_, let skeleton) = plan.output.kind else { return .keypoints([]) }
            return .keypoints(self.points(points, skeleton, picture))
        case .embedding(let decoder): return .embedding(try decoder.embedding(output))
        case .text(let decoder):
            return .text(page(try decoder.characters(in: output, isCancelled: isCancelled), plan.spec, picture))
        case .regions(let decoder):
            let regions = try decoder.regions(output, threshold: request.findThreshold, isCancelled: isCancelled)
            return .text(
                PageText(unread: regions.map { TextLine(score: $0.score, corners: picture.points($0.corners)) }))
        }
    }

    /// The minimum confidence of a line's text if the request states none.
    static let textThreshold: Float = 0.5

    /// The text of the one line that a recognizer reads, which fills the picture.
    private func page(_ characters: [TextCharacter], _ spec: ImageTensorSpec, _ picture: PictureMap) -> PageText {
        // The margin of the tensor is no part of the line.
        let part = Double(spec.width) / Double(spec.resizeExactly?.width ?? spec.width)
        var characters = characters
        for index in characters.indices { characters[index].middle = min(characters[index].middle * part, 1) }
        let (x, y) = (picture.x.seen, picture.y.seen)
        let line = TextLine(
            characters,
            corners: [
                PlanePoint(x: x.lowerBound, y: y.lowerBound), PlanePoint(x: x.upperBound, y: y.lowerBound),
                PlanePoint(x: x.upperBound, y: y.upperBound), PlanePoint(x: x.lowerBound, y: y.upperBound),
            ])
        let isKept = line.confidence >= request.threshold ?? Self.textThreshold && !line.isBlank
        return PageText(isKept ? [line] : [], maximum: request.top)
    }

    private func detections(
        _ decoder: BoxDecoder, _ masks: InstanceMaskDecoder?, _ tensors: [String: [OutputTensor]],
        _ plan: ObservationPlan, _ picture: PictureMap
    ) throws(ObservationError) -> ObservationResult.Content {
        guard case .boxes(let boxes) = plan.output.kind else { return .detections([]) }
        var options = BoxOptions()
        options.threshold = request.threshold
        options.iou = request.iou
        options.maximum = request.top
        options.classes = requestedClasses
        options.needsAll = request.needsAll
        let detections = try decoder.detections(in: tensors, options: options, isCancelled: isCancelled)
        let reader = boxes.keypoints.map { PointReader($0.decoding, width: plan.spec.width, height: plan.spec.height) }
        let labels = plan.output.labels
        var runs = Self.maximumRuns
        var found: [ObservationResult.Found] = []
        for detection in detections {
            let turned = detection.angle.map { picture.turned(TurnedBox(detection.box, angle: $0)) }
            // A turned box may lie outside the picture, as in Ultralytics' results.
            guard let rectangle = turned.map(picture.around) ?? picture.rectangle(detection.box) else { continue }
            var mask: RunLengths?
            if let masks, let prototypes = tensors["prototypes"]?.first, detection.extras.count >= masks.coefficients {
                mask = try masks.mask(
                    of: detection, coefficients: detection.extras[..<masks.coefficients], prototypes: prototypes,
                    in: picture, maximum: runs, isCancelled: isCancelled)
                runs -= mask?.counts.count ?? 0
            }
            var points: [ObservationResult.Point]?
            if let reader, let keypoints = boxes.keypoints {
                let numbers = detection.extras[min(masks?.coefficients ?? 0, detection.extras.count)...]
                points = self.points(
                    try reader.points(numbers, threshold: keypoints.decoding.threshold), keypoints.skeleton, picture)
            }
            let label = labels.flatMap { detection.index < $0.count ? $0[detection.index] : nil }
            found.append(
                ObservationResult.Found(
                    index: detection.index, label: label ?? "\(detection.index)", confidence: detection.confidence,
                    box: rectangle, turned: turned, keypoints: points, mask: mask))
        }
        return .detections(found)
    }

    private func points(
        _ points: [Keypoint?], _ skeleton: ObservationOutput.Skeleton, _ picture: PictureMap
    ) -> [ObservationResult.Point] {
        points.enumerated().map { index, point in
            ObservationResult.Point(
                name: index < skeleton.names.count ? skeleton.names[index] : "\(index)",
                place: point.map { (picture.x.picture($0.x), picture.y.picture($0.y)) },
                depth: point?.z.map { Double($0) * picture.x.scale }, confidence: point?.confidence)
        }
    }
}

extension AxisMap {
    /// The map of one axis, for a tensor with the given number of pixels.
    init(_ axis: PictureMapping.Axis, side: Int) {
        let length = Double(axis.length)
        let start = min(max(axis.inverse(0), 0), length), end = min(max(axis.inverse(Double(side)), start), length)
        self.init(scale: 1 / axis.scale, origin: axis.inverse(0), length: axis.length, seen: start...end)
    }
}

extension PictureMap {
    /// Converts points of the tensor to points of the picture, which may lie outside it.
    fileprivate func points(_ points: [PlanePoint]) -> [PlanePoint] {
        points.map { PlanePoint(x: x.origin + $0.x * x.scale, y: y.origin + $0.y * y.scale) }
    }

    /// The map of the whole picture, if this one maps a part of it.
    func placed(_ place: PicturePlace) -> PictureMap {
        func axis(_ axis: AxisMap, _ start: Int, _ length: Int) -> AxisMap {
            let low = min(max(axis.seen.lowerBound + Double(start), 0), Double(length))
            let high = min(max(axis.seen.upperBound + Double(start), low), Double(length))
            return AxisMap(scale: axis.scale, origin: axis.origin + Double(start), length: length, seen: low...high)
        }
        return PictureMap(
            x: axis(x, place.window.x, place.size.width), y: axis(y, place.window.y, place.size.height))
    }

    /// The place of the whole tensor in pixels of the picture, beyond which a letterbox's margin goes.
    fileprivate func area(of spec: ImageTensorSpec) -> Rectangle {
        Rectangle(
            x: x.origin, y: y.origin, width: Double(spec.width) * x.scale, height: Double(spec.height) * y.scale)
    }

    /// The part of the picture that the tensor shows; nil if it shows all of it.
    var seen: Rectangle? {
        let (width, height) = (Double(x.length), Double(y.length))
        // Less than a pixel is a rounding error.
        guard
            x.seen.lowerBound > 0.01 || y.seen.lowerBound > 0.01 || x.seen.upperBound < width - 0.01
                || y.seen.upperBound < height - 0.01
        else { return nil }
        return Rectangle(
            x: x.seen.lowerBound, y: y.seen.lowerBound, width: x.seen.upperBound - x.seen.lowerBound,
            height: y.seen.upperBound - y.seen.lowerBound)
    }
}
