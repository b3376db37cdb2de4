/// A pipeline as model.json describes it: a detector, and the models that look closer at each of its finds.
package struct PipelineDescription: Sendable, Hashable {
    /// The name of the detector that sees the picture.
    package var model = ""
    /// The least confidence of a find, and the overlap from which one suppresses another; nil is the detector's own.
    package var threshold: Float?, iou: Float?
    /// Labels or numbers of the finds that are wanted; nil for all.
    package var classes: [String]?
    /// The parts of the picture that the detector sees one by one; nil if it sees the picture at once.
    package var tiles: Tiles?
    /// The most finds of the picture with stages, the most confident first; nil for no limit but that of the request.
    package var most: Int?
    /// The stages of each find.
    package var each: [Stage] = []

    /// A grid of squares over the picture.
    package struct Tiles: Sendable, Hashable {
        /// Pixels of a side.
        package var size: Int
        /// The part of a side that two neighbours share, 0 to 0.9.
        package var overlap: Double
    }

    /// One model that looks at each find.
    package struct Stage: Sendable, Hashable {
        /// Its place in model.json: `pipeline.each[0]`.
        package var path: String
        /// The member of a find that has its answer.
        package var name = ""
        package var model = ""
        package var task = Task.classify
        /// Labels or numbers of the finds that it looks at; nil for all.
        package var classes: [String]?
        /// The most classes or detections of its answer; nil is the model's own.
        package var top: Int?
        package var threshold: Float?, iou: Float?
        package var crop = Crop()
        /// The most of its own finds with stages.
        package var most: Int?
        /// The stages of its own finds.
        package var each: [Stage] = []
    }

    /// The task that a stage asks of its model. The raw values are those of `task`.
    package enum Task: String, Sendable, CaseIterable {
        case classify, embed, detect, segment, keypoints

        /// The task of those that observe; nil for classes.
        package var observation: ObservationTask? { ObservationTask(rawValue: rawValue) }
    }

    /// The part of the picture that a stage sees.
    package struct Crop: Sendable, Hashable {
        /// The margin by which each side is moved outwards, in widths or heights of the box.
        package var margin = 0.0
        /// True if the shorter side is widened to the longer one.
        package var isSquare = false
        /// True if the find's first five points are brought to their places in a face that looks straight ahead.
        package var alignsFivePoints = false
        /// The side of an aligned picture, which is a square; nil is the model's input, or 112.
        package var side: Int?
        /// True if what lies outside the find's mask is black.
        package var isMasked = false
    }

    /// The most levels of stages.
    package static let deepest = 3

    /// The names of all models, each once.
    package var models: Set<String> { Set([model] + allStages.map(\.model)) }

    /// The stages of all levels, each before its own.
    package var allStages: [Stage] {
        func all(_ stages: [Stage]) -> [Stage] { stages.flatMap { [$0] + all($0.each) } }
        return all(each)
    }
}
