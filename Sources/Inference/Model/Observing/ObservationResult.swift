package import ImagePipeline
package import Observations

/// The options of a request, which override the bundle's description.
package struct ObservationRequest: Sendable {
    package var task: ObservationTask
    /// The minimum confidence; nil uses the bundle's.
    package var threshold: Float?
    /// The minimum score of a region of text; nil uses the reader's.
    package var findThreshold: Float?
    /// The overlap (IoU) from which boxes suppress each other; nil uses the bundle's.
    package var iou: Float?
    /// The maximum number of detections, or of lines of text; nil uses the bundle's, or has no limit.
    package var top: Int?
    /// Labels or numbers of the requested classes; nil for all.
    package var classes: [String]?
    /// True if no detection may be missing, as for a picture in which all must be covered: limits on the number of
    /// detections do not apply, and an unreadable result is an error.
    package var needsAll = false
    /// True if the result includes the pixels.
    package var keepsPicture = false
    /// True if the result of an embedding includes the vectors of its patches.
    package var readsPatches = false

    /// A request with the bundle's options.
    package init(task: ObservationTask) { self.task = task }

    /// The classes in a list that is separated by commas; blanks around the commas are ignored.
    package static func classes(in text: String) -> [String] {
        text.split(separator: ",").compactMap { part in
            let name = part.drop { $0 == " " }
            guard let last = name.lastIndex(where: { $0 != " " }) else { return nil }
            return String(name[...last])
        }
    }
}

/// The results for one picture, in pixels of the picture as it is displayed.
package struct ObservationResult: Sendable {
    package var content: Content
    package var image: ImageInfo
    /// The size of the picture after orientation.
    package let displayed: ImageSize
    /// The part of the picture that the model saw; nil if it saw all of it.
    package let seen: PictureMap.Rectangle?
    package var times: StageTimes
    /// The pixels, if the request includes them.
    package var picture: HeldPicture?
    /// The stages of a pipeline that ran; nil for a model.
    package var pipeline: PipelineNote?
    /// The vectors of the patches, if the request includes them and the output has them.
    package var patches: PicturePatches?

    package enum Content: Sendable {
        case detections([Found])
        case mask(PictureMask, labels: [String]?)
        case keypoints([Point])
        case embedding([Float])
        /// The places of the lines are pixels of the displayed picture.
        case text(PageText)
    }

    /// One detection.
    package struct Found: Sendable {
        package let index: Int
        package let label: String
        package let confidence: Float
        package let box: PictureMap.Rectangle
        /// The place of a turned box, which ``box`` surrounds; nil if the model has upright boxes.
        package var turned: TurnedRectangle?
        /// Nil if the model has no keypoints.
        package let keypoints: [Point]?
        /// Nil if the model has no masks, or the masks of the picture would be too large.
        package let mask: RunLengths?
        /// The answers of a pipeline's stages, in order; empty for a model.
        package var stages: [StageAnswer] = []
    }

    /// The answer of a stage for one detection.
    package struct StageAnswer: Sendable {
        /// The name of the stage.
        package let name: String
        package var outcome: Outcome

        package enum Outcome: Sendable {
            case classes(ClassificationResult)
            /// - Parameter box: the crop that the stage saw, in pixels of the picture.
            indirect case observed(ObservationResult, box: PictureMap.Rectangle)
            /// The detection's crop failed; the others are answered.
            case failed(InferenceError)
            /// The stage's taught model cannot answer.
            case absent(TaughtAbsence)
        }
    }

    /// One named point; `place` is nil if it was not found.
    package struct Point: Sendable {
        package let name: String
        package let place: (x: Double, y: Double)?
        /// The depth in units of the picture's pixels along its width, from the model's own origin; nil if the model
        /// has no depth.
        package var depth: Double?
        package let confidence: Float?
    }

    /// The number of objects found.
    package var count: Int {
        switch content {
        case .detections(let found): found.count
        case .keypoints(let points): points.count { $0.place != nil }
        case .mask, .embedding: 1
        case .text(let page): page.lines.count
        }
    }
}

/// The stages that a pipeline ran for one picture.
package struct PipelineNote: Sendable {
    /// The number of detections that were skipped because of a limit.
    package var skipped = 0
    /// The stages that ran.
    package var stages: [Stage] = []

    /// The crops of one stage.
    package struct Stage: Sendable {
        package let name: String
        /// Nanoseconds from the start of the first crop to the end of the last.
        package let nanoseconds: UInt64
        package let crops: Int
        /// The number of crops without an answer.
        package let failures: Int
    }

    /// No stages.
    package init() {}
}
