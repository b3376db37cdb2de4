package import EngineAPI

/// A pipeline as model.json describes it: a detector, and the models that run on each of its detections.
package struct PipelineDescription: Sendable, Hashable {
    /// The name of the detector, which gets the picture.
    package var model = ""
    /// The minimum confidence of a detection, and the overlap (IoU) from which one suppresses another; nil uses the
    /// detector's own.
    package var threshold: Float?, iou: Float?
    /// Labels or numbers of the detections to keep; nil for all.
    package var classes: [String]?
    /// The parts of the picture that the detector gets separately; nil if it gets the whole picture.
    package var tiles: Tiles?
    /// The maximum number of the picture's detections with stages, the most confident first; nil if only the request
    /// limits them.
    package var maximum: Int?
    /// The stages that run for each detection.
    package var each: [Stage] = []

    /// A grid of squares over the picture.
    package struct Tiles: Sendable, Hashable {
        /// The side in pixels.
        package var size: Int
        /// The fraction of a side that two neighbours share, 0 to 0.9.
        package var overlap: Double
    }

    /// One model that runs on each detection.
    package struct Stage: Sendable, Hashable {
        /// Its path in model.json: `pipeline.each[0]`.
        package var path: String
        /// The member of a detection that contains its answer.
        package var name = ""
        package var model = ""
        package var task = Task.classify
        /// Labels or numbers of the detections that it runs on; nil for all.
        package var classes: [String]?
        /// The maximum number of classes or detections of its answer; nil uses the model's own.
        package var top: Int?
        package var threshold: Float?, iou: Float?
        package var crop = Crop()
        /// The maximum number of its own detections with stages.
        package var maximum: Int?
        /// The stages that run for each of its own detections.
        package var each: [Stage] = []
    }

    /// The task of a stage's model. The raw values are those of `task`.
    package enum Task: String, Sendable, CaseIterable {
        case classify, embed, detect, segment, keypoints, read

        /// The observation task; nil for classification.
        package var observation: ObservationTask? { ObservationTask(rawValue: rawValue) }
    }

    /// The part of the picture that a stage gets.
    package struct Crop: Sendable, Hashable {
        /// The margin by which each side is moved outwards, as a multiple of the box's width or height.
        package var margin = 0.0
        /// True if the shorter side is extended to the length of the longer one.
        package var isSquare = false
        /// The alignment of the crop; nil for an upright part of the picture.
        package var alignment: Alignment?
        /// The side of an aligned picture, which is a square; nil uses the model's input size, or 112.
        package var side: Int?
        /// True if pixels outside the detection's mask are black.
        package var isMasked = false
    }

    /// The alignment of a crop. The raw values are those of `align`.
    package enum Alignment: String, Sendable, CaseIterable {
        /// The detection's five points are mapped to their positions in a frontal face.
        case fivePoints = "five_points"
        /// A turned box becomes upright: its width lies along the rows.
        case box
    }

    /// The maximum number of levels of stages.
    package static let deepest = 3

    /// The names of all models, each once.
    package var models: Set<String> { Set([model] + allStages.map(\.model)) }

    /// The names that taught models may have: those that only stages which classify name.
    package var namesOfTaughtModels: Set<String> {
        Set(allStages.filter { $0.task == .classify }.map(\.model))
            .subtracting([model] + allStages.filter { $0.task != .classify }.map(\.model))
    }

    /// The stages of all levels, each before its nested stages.
    package var allStages: [Stage] {
        func all(_ stages: [Stage]) -> [Stage] { stages.flatMap { [$0] + all($0.each) } }
        return all(each)
    }
}
