internal import Drift
internal import ImagePipeline
internal import Inference

extension DriftObservation {
    /// The signals of an answer: those of its picture, and of its results.
    init(_ report: AnswerReport) {
        self.init()
        switch report.outcome {
        case .classes(let result):
            add(result.image)
            if let certainty = result.certainty {
                self[.confidence] = Double(certainty.confidence)
                self[.entropy] = Double(certainty.entropy)
                setLabel(certainty.index, of: certainty.count)
            }
            if let taught = result.taught { setDistance(taught.distance) }
        case .observations(let result):
            add(result.image)
            switch result.content {
            case .detections(let found):
                // A picture in which nothing is found counts too.
                let best = found.max { $0.confidence < $1.confidence }
                self[.confidence] = Double(best?.confidence ?? 0)
                if let best, let labels = report.ran?.observationOutput(for: .detect)?.labels {
                    setLabel(best.index, of: labels.count)
                }
            case .embedding(let values): vector = values
            case .mask, .keypoints, .text: break
            }
        }
    }

    private mutating func add(_ image: ImageInfo) {
        setSize(width: image.width, height: image.height)
        guard let light = image.light else { return }
        self[.brightness] = Double(light.brightness)
        self[.contrast] = Double(light.contrast)
        self[.sharpness] = Double(light.sharpness)
    }
}
