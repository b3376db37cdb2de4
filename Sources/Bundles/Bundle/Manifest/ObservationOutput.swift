package import EngineAPI
package import Observations

/// An entry of a manifest's `outputs` for boxes, a mask, keypoints, an embedding or text. It may combine several of the
/// model's tensors.
package struct ObservationOutput: Sendable {
    /// The path of its description: `outputs[0]`.
    package var path: String
    /// The name of the group; that of the tensor if it has only one.
    package var name: String
    /// The model's tensors by their roles (``BoxDecoding/roles``, `output`, `prototypes`), in the order of levels.
    package var tensors: [String: [Tensor]]
    package var kind: Kind
    /// The names of the classes; for boxes without the background.
    package var labels: [String]?

    /// One tensor of the model file.
    package struct Tensor: Sendable {
        /// The path of its name in model.json.
        package var path: String
        package var name: String
        /// The transform that is applied to its values.
        package var linear: LinearTransform?

        /// A tensor by its name.
        package init(path: String, name: String, linear: LinearTransform? = nil) {
            self.path = path
            self.name = name
            self.linear = linear
        }
    }

    package enum Kind: Sendable {
        case boxes(Boxes)
        case mask(MaskDecoding)
        case keypoints(KeypointDecoding, Skeleton)
        case embedding(EmbeddingDecoding, classes: EmbeddingClassifier?)
        /// The text of a line.
        case text(TextDecoding)
        /// The probability of text at each pixel, from which a reader makes regions.
        case regions(TextRegionDecoding)
    }

    /// Detections, with their masks and keypoints.
    package struct Boxes: Sendable {
        package var decoding: BoxDecoding
        /// Masks of single detections: the number of coefficients, and the minimum probability of a pixel.
        package var masks: (coefficients: Int, threshold: Float)?
        /// Keypoints of single detections: their form and their names.
        package var keypoints: (decoding: KeypointDecoding, skeleton: Skeleton)?

        /// Plain boxes.
        package init(_ decoding: BoxDecoding) { self.decoding = decoding }

        /// The number of values that follow a row's classes: coefficients first, then points.
        package var extras: Int {
            (masks?.coefficients ?? 0) + (keypoints.map { $0.skeleton.names.count * $0.decoding.order.count } ?? 0)
        }
    }

    /// The names of points, and the edges between them.
    package struct Skeleton: Sendable {
        package var names: [String]
        /// Pairs of indices into `names`, for drawing.
        package var edges: [[Int]]

        /// A skeleton with these names and edges.
        package init(names: [String], edges: [[Int]] = []) {
            self.names = names
            self.edges = edges
        }
    }

    /// An entry with the given values.
    package init(path: String, name: String, tensors: [String: [Tensor]], kind: Kind, labels: [String]? = nil) {
        self.path = path
        self.name = name
        self.tensors = tensors
        self.kind = kind
        self.labels = labels
    }

    /// The tensors in the order of their roles, each once; `/predict` and `/v2` serve them.
    package var layers: [ModelManifest.Layer] {
        roles.flatMap { role in
            (tensors[role] ?? []).map { tensor in
                var layer = ModelManifest.Layer(path: tensor.path, name: tensor.name, kind: .array, shape: [])
                layer.isAsInFile = true
                layer.namePath = tensor.path
                return layer
            }
        }
    }

    /// The roles of the tensors, in the order of TensorFlow Lite's outputs.
    package var roles: [String] {
        switch kind {
        case .boxes(let boxes):
            let roles = boxes.decoding.roles
            return roles.required + roles.optional + (boxes.masks == nil ? [] : ["prototypes"])
        default: return ["output"]
        }
    }

    /// True if it classifies by embeddings.
    package var classifies: Bool { if case .embedding(_, .some) = kind { true } else { false } }

    /// The task that it provides.
    package var task: ObservationTask {
        switch kind {
        case .boxes: .detect
        case .mask: .segment
        case .keypoints: .keypoints
        case .embedding: .embed
        case .text, .regions: .read
        }
    }
}
