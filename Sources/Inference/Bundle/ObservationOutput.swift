package import Observations

/// An entry of a manifest's `outputs` for boxes, a mask, keypoints or an embedding. It may combine several of the
/// model's tensors.
package struct ObservationOutput: Sendable {
    /// The place of its description: `outputs[0]`.
    package var path: String
    /// The name of the group; the tensor's where there is only one.
    package var name: String
    /// The model's tensors by their roles (``BoxDecoding/roles``, `output`, `prototypes`), in the order of levels.
    package var tensors: [String: [Tensor]]
    package var kind: Kind
    /// The classes' names, background left out for boxes.
    package var labels: [String]?

    /// One tensor of the model file.
    package struct Tensor: Sendable {
        /// The place of its name.
        package var path: String
        package var name: String
        /// The transform of its values.
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
    }

    /// Detections, with their masks and keypoints.
    package struct Boxes: Sendable {
        package var decoding: BoxDecoding
        /// Masks of single detections: how many coefficients, and the least probability of a place.
        package var masks: (coefficients: Int, threshold: Float)?
        /// Keypoints of single detections: their form and their names.
        package var keypoints: (decoding: KeypointDecoding, skeleton: Skeleton)?

        /// Plain boxes.
        package init(_ decoding: BoxDecoding) { self.decoding = decoding }

        /// Numbers that follow a row's classes: coefficients first, then points.
        package var extras: Int {
            (masks?.coefficients ?? 0) + (keypoints.map { $0.skeleton.names.count * $0.decoding.order.count } ?? 0)
        }
    }

    /// Names of points, and the edges between them.
    package struct Skeleton: Sendable {
        package var names: [String]
        /// Pairs of positions in `names`, for drawing.
        package var edges: [[Int]]

        /// Names, and edges between them.
        package init(names: [String], edges: [[Int]] = []) {
            self.names = names
            self.edges = edges
        }
    }

    /// A description.
    package init(path: String, name: String, tensors: [String: [Tensor]], kind: Kind, labels: [String]? = nil) {
        self.path = path
        self.name = name
        self.tensors = tensors
        self.kind = kind
        self.labels = labels
    }

    /// The tensors in the order of their roles, each once: what `/predict` and `/v2` serve.
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

    /// True if it classifies by embedding.
    package var classifies: Bool { if case .embedding(_, .some) = kind { true } else { false } }

    /// The task that it answers.
    package var task: ObservationTask {
        switch kind {
        case .boxes: .detect
        case .mask: .segment
        case .keypoints: .keypoints
        case .embedding: .embed
        }
    }
}
