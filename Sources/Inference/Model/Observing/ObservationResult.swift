package import ImagePipeline
package import Observations

/// The options of a request, in addition to the bundle's description.
package struct ObservationRequest: Sendable {
    package var task: ObservationTask
    /// The least confidence; nil is the bundle's.
    package var threshold: Float?
    /// The overlap from which boxes suppress each other; nil is the bundle's.
    package var iou: Float?
    /// The most detections; nil is the bundle's.
    package var top: Int?
    /// Labels or numbers of the classes that are wanted; nil for all.
    package var classes: [String]?
    /// True if no detection may be missing, as for a picture in which all are covered: limits of their number do not
    /// count, and what cannot be read is an error.
    package var needsAll = false
    /// True if the pixels are wanted with the result.
    package var keepsPicture = false

    /// A request with the bundle's own options.
    package init(task: ObservationTask) { self.task = task }

    /// The classes that a list with commas names; blanks around the commas do not count.
    package static func classes(in text: String) -> [String] {
        text.split(separator: ",").compactMap { part in
            let name = part.drop { $0 == " " }
            guard let last = name.lastIndex(where: { $0 != " " }) else { return nil }
            return String(name[...last])
        }
    }
}

/// The findings in one picture, in pixels of the picture as it is displayed.
package struct ObservationResult: Sendable {
    package var content: Content
    package var image: ImageInfo
    /// The size of the picture after orientation.
    package let displayed: ImageSize
    /// The part that the model saw, where that is not all of it.
    package let seen: PictureMap.Rectangle?
    package var times: StageTimes
    /// The pixels, where the request wants them.
    package var picture: HeldPicture?
    /// The stages of a pipeline that ran; nil for a model.
    package var pipeline: PipelineNote?

    package enum Content: Sendable {
        case detections([Found])
        case mask(PictureMask, labels: [String]?)
        case keypoints([Point])
        case embedding([Float])
    }

    /// One detection.
    package struct Found: Sendable {
        package let index: Int
        package let label: String
        package let confidence: Float
        package let box: PictureMap.Rectangle
        /// Nil if the model gives none.
        package let keypoints: [Point]?
        /// Nil if the model gives none, or where the picture's masks would be too large.
        package let mask: RunLengths?
        /// The answers of a pipeline's stages, in order; empty where there are none.
        package var stages: [StageAnswer] = []
    }

    /// The answer of a stage for one find.
    package struct StageAnswer: Sendable {
        /// The name of the stage.
        package let name: String
        package var outcome: Outcome

        package enum Outcome: Sendable {
            case classes(ClassificationResult)
            /// - Parameter box: what the stage saw, in pixels of the picture.
            indirect case observed(ObservationResult, box: PictureMap.Rectangle)
            /// The find's crop failed; the others are answered.
            case failed(InferenceError)
        }
    }

    /// One named point; without a place where it was not found.
    package struct Point: Sendable {
        package let name: String
        package let place: (x: Double, y: Double)?
        /// In pixels of the picture's width, from wherever the model counts; nil if it does not say.
        package var depth: Double?
        package let confidence: Float?
    }

    /// The number of things that were found.
    package var count: Int {
        switch content {
        case .detections(let found): found.count
        case .keypoints(let points): points.count { $0.place != nil }
        case .mask, .embedding: 1
        }
    }
}

/// The stages that a pipeline ran for one picture.
package struct PipelineNote: Sendable {
    /// Finds that were left without stages because of a limit.
    package var skipped = 0
    /// The stages that ran.
    package var stages: [Stage] = []

    /// The crops of one stage.
    package struct Stage: Sendable {
        package let name: String
        /// Nanoseconds from the begin of the first crop to the end of the last.
        package let nanoseconds: UInt64
        package let crops: Int
        /// Crops without an answer.
        package let failures: Int
    }

    /// Nothing.
    package init() {}
}
