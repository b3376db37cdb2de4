package import ImagePipeline
package import Inference
internal import Observations

/// An answer in the form of the picture, with its finds drawn or some of them covered.
package struct PictureForm: Sendable {
    package var isJPEG: Bool
    /// The finds to cover, and how.
    package var covers: [Covered] = []

    /// The finds that are covered in one way, by label or class number; `all` stands for every find.
    package struct Covered: Sendable {
        package var labels: [String]
        package var cover: Drawing.Cover

        package init(_ labels: [String], _ cover: Drawing.Cover) {
            self.labels = labels
            self.cover = cover
        }

        func includes(_ found: ObservationResult.Found) -> Bool {
            labels.contains("all") || labels.contains(found.label) || labels.contains("\(found.index)")
        }
    }

    package init(isJPEG: Bool) { self.isJPEG = isJPEG }

    /// The label that stands for every find.
    private static let all = "all"

    /// The reason why the finds cannot be covered, with the parameter that is wrong: a label that the model does not
    /// have would silently cover nothing.
    package func refusal(of model: Model) -> (name: String, reason: String)? {
        for covered in covers {
            var request = ObservationRequest(task: .detect)
            request.classes = covered.labels.filter { $0 != Self.all }
            switch model.refusal(of: request) {
            case .invalidInput(_, let reason)?:
                return (covered.cover.rawValue, reason + "; \"\(Self.all)\" covers every find")
            case let error?: return (covered.cover.rawValue, error.message)
            case nil: continue
            }
        }
        return nil
    }

    /// The request for the finds to draw; for all finds if some must be covered.
    package func request(_ request: ObservationRequest) -> ObservationRequest {
        var request = request
        request.keepsPicture = true
        guard !covers.isEmpty else { return request }
        // `top` and the model's own limit do not apply then.
        request.needsAll = true
        request.classes = nil
        return request
    }

    /// Draws or covers, and encodes. Takes about as long as decoding the picture.
    /// - Parameters:
    ///   - result: the result of ``request(_:)``.
    ///   - edges: pairs of keypoints to join with a line.
    package func bytes(
        of result: ObservationResult, edges: [[Int]], isCancelled: () -> Bool
    ) throws(ImageError) -> [UInt8] {
        guard let picture = result.picture, case .detections(let found) = result.content else {
            throw .corrupt("its pixels were not kept")
        }
        var drawing = try Drawing(picture, isCancelled: isCancelled)
        if covers.isEmpty { drawing.draw(result, edges: edges) }
        // Fill after blurring: a blur must not mix a black box with its surroundings.
        for cover in [Drawing.Cover.blur, .fill] {
            for (place, one) in found.enumerated()
            where covers.contains(where: { $0.cover == cover && $0.includes(one) }) {
                if place & 63 == 0, isCancelled() { throw .cancelled }
                drawing.cover(one.box, as: cover)
            }
        }
        return try drawing.encoded(isJPEG: isJPEG, isCancelled: isCancelled)
    }
}
