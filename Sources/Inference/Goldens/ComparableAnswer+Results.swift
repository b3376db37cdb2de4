internal import ImagePipeline
internal import Observations
package import Rollout
internal import SystemSupport

// Converts the results of a model to answers that can be compared.

extension ComparableAnswer {
    package init(_ result: ClassificationResult) {
        self = .classes(
            result.classifications.map {
                ScoredLabel(index: $0.index, label: $0.label, confidence: Double($0.confidence))
            })
    }

    /// Computes the run lengths of a mask, which takes as long as writing it.
    package init(_ result: ObservationResult) {
        let side = Double(max(result.displayed.width, result.displayed.height))
        switch result.content {
        case .detections(let found): self = .boxes(found.map(FoundBox.init), side: side)
        case .keypoints(let points): self = .points(points.map(NamedPoint.init), side: side)
        case .embedding(let values): self = .embedding(values)
        case .text(let page): self = .text(page.text)
        case .mask(let mask, let labels): self = Self.segments(mask, labels: labels)
        }
    }

    package init(_ embedding: TextEmbedding) { self = .embedding(embedding.vector) }

    /// Pictures among the outputs are compared by the digest of their bytes, as text.
    package init(_ prediction: Prediction) {
        var values: [String: OutputValue] = [:]
        for name in prediction.featureNames {
            if let value = prediction.featureValue(for: name) { Self.add(value, as: name, to: &values) }
        }
        self = .values(values)
    }

    /// Adds a value under its name; the values of a sequence each with their index.
    private static func add(_ value: FeatureValue, as name: String, to values: inout [String: OutputValue]) {
        switch value {
        case .dictionary(let labels):
            values[name] = .labels(Dictionary(labels.map { ($0.label, $0.value) }) { first, _ in first })
        case .multiArray(let array): values[name] = .array(shape: array.shape.dimensions, array.doubles)
        case .int64(let value): values[name] = .number(Double(value))
        case .double(let value): values[name] = .number(value)
        case .string(let text): values[name] = .text(text)
        case .strings(let array):
            for (place, text) in array.elements.enumerated() { values["\(name)[\(place)]"] = .text(text) }
        case .sequence(let rows):
            for (place, row) in rows.enumerated() { add(row, as: "\(name)[\(place)]", to: &values) }
        case .image(let image):
            values[name] = .text(SHA256.text(SHA256.digest(image.withUnsafeBytes { [UInt8]($0) })))
        case .depth(let map):
            values[name] = .array(shape: [depthSide, depthSide], map.samples(side: depthSide).map(Double.init))
        case .borrowedArray: break
        }
    }

    /// The rows and columns of the grid on which depth maps are compared, whatever the size of the models' own maps.
    private static let depthSide = 32

    /// The maximum number of runs of a mask.
    private static let maximumRuns = 2_000_000

    private static func segments(_ mask: PictureMask, labels: [String]?) -> ComparableAnswer {
        let runs = try? mask.runLengths(of: Set(0...Int(UInt16.max)), maximum: maximumRuns)
        guard let runs else { return .failure(code: "internal", message: "the mask has too many edges to be compared") }
        return .segments(
            runs.sorted { $0.key < $1.key }.filter { $0.value.area > 0 }.map { index, lengths in
                let label = labels.flatMap { index < $0.count ? $0[index] : nil }
                return Segment(label: label ?? "\(index)", mask: RunMask(lengths))
            })
    }
}

extension ComparableAnswer.FoundBox {
    fileprivate init(_ found: ObservationResult.Found) {
        self.init(
            label: found.label, confidence: Double(found.confidence), x: found.box.x, y: found.box.y,
            width: found.box.width, height: found.box.height)
        mask = found.mask.map(RunMask.init)
        points = found.keypoints?.map(ComparableAnswer.NamedPoint.init)
        corners = found.turned?.corners.all.map { ComparableAnswer.NamedPoint.Place(x: $0.x, y: $0.y) }
    }
}

extension ComparableAnswer.NamedPoint {
    fileprivate init(_ point: ObservationResult.Point) {
        if let place = point.place { self.init(x: place.x, y: place.y) } else { self.init() }
    }
}

extension RunMask {
    init(_ runs: RunLengths) {
        self.init(width: runs.width, height: runs.height, counts: runs.counts)
    }
}
