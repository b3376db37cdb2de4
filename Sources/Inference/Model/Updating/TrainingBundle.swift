internal import FileFormats
internal import FoundationEssentials
package import ImagePipeline
internal import JSON

/// A TensorIO bundle with a SavedModel that can be trained (`modes: ["train"]`, `train.ops`): the description of a
/// batch in its model.json.
package struct TrainingBundle: Sendable {
    /// The paths of the bundle's folder, and of the SavedModel's folder in it.
    package let path: String, model: String
    package let inputs: [Input]
    package let outputs: [String]
    /// The operations of the graph that make up one training step.
    package let operations: [String]

    /// An input of a batch.
    package struct Input: Sendable {
        package let name: String
        /// The shape of one item.
        package let shape: [Int]
        /// True if items are stacked along a first axis; otherwise a batch has one item.
        package let hasBatch: Bool
        /// True for a placeholder, which has one value for the whole batch.
        package let isPlaceholder: Bool
        private let pipeline: ImagePipeline?

        package var isPicture: Bool { pipeline != nil }
        /// The number of elements of one item; nil if a tensor cannot hold as many.
        package var count: Int? { Shape(shape).elementCount }

        init(_ layer: ModelManifest.Layer, isPlaceholder: Bool, limits: ImageLimits, _ problems: ProblemList) {
            name = layer.name
            self.isPlaceholder = isPlaceholder
            var dimensions = layer.shape.dimensions
            hasBatch = dimensions.first == Shape.dynamic
            if hasBatch { dimensions.removeFirst() }
            shape = dimensions
            if dimensions.contains(where: { $0 < 1 }) {
                problems.add("\(layer.path).shape", "\(layer.shape) has an open axis that is not the first")
            }
            guard case .image(let image) = layer.kind, dimensions.count >= 3 else {
                pipeline = nil
                return
            }
            do throws(ImageError) {
                pipeline = try ImagePipeline(
                    spec: ModelPlanner.spec(layer, image: image, element: .float32), limits: limits)
            } catch {
                problems.add(layer.path, error.message)
                pipeline = nil
            }
        }

        /// Converts a picture to the tensor that the bundle describes, as a NumPy file of 32-bit floats. Computes on
        /// the calling thread.
        package func tensor(of picture: [UInt8]) throws(InferenceError) -> [UInt8] {
            guard let pipeline else { throw .unsupported(model: name, reason: "does not take a picture") }
            let image = EncodedImage(picture)
            var tensor = [UInt8](repeating: 0, count: pipeline.spec.byteCount)
            let prepared: PreprocessedImage
            do throws(ImageError) {
                let decoded = try image.decodedHere(pipeline, page: 0, isCancelled: { Task.isCancelled })
                let outcome = tensor.withUnsafeMutableBytes { destination -> Result<ImageInfo, ImageError> in
                    Result { () throws(ImageError) in
                        try decoded.prepare(
                            pipeline, into: destination, options: ImageDecodeOptions(),
                            isCancelled: { Task.isCancelled })
                    }
                }
                _ = try outcome.get()
                prepared = PreprocessedImage(
                    report: try decoded.explain(pipeline, options: ImageDecodeOptions()), spec: pipeline.spec,
                    tensor: tensor)
            } catch {
                throw .image(error, input: name)
            }
            do throws(ImageError) { return try prepared.npy() } catch { throw .image(error, input: name) }
        }
    }

    /// Reads a bundle. Blocks.
    /// - Throws: an error with all problems of the bundle.
    package init(path: String, limits: ImageLimits) throws(InferenceError) {
        let name = ModelBundle.servedName(of: path)
        let problems = ProblemList()
        func refused() -> InferenceError { .invalidBundle(name: name, problems: problems.problems) }
        let tree: JSONTree
        switch BundleFile.read(path + "/model.json", maximum: BundleFile.largestManifest) {
        case .failure(let problem):
            problems.add("model.json", problem.reason)
            throw refused()
        case .success(let data):
            do throws(JSONTextError) { tree = try JSONValue.read(data) } catch {
                problems.add("model.json", "is not valid JSON: \(error.reason)")
                throw refused()
            }
        }
        let parser = ManifestParser(
            problems: problems, trains: true, labels: { _, _ in nil }, contents: { _, _, _ in nil },
            locate: { _, _ in nil })
        let manifest = parser.parse(tree.value)
        let root = ManifestObject(tree.value, path: "", problems: problems)
        operations = Self.operations(root, problems)
        let placeholders = Set(root.objects("placeholders").compactMap { $0.string("name") })
        inputs = manifest.inputs.map {
            Input($0, isPlaceholder: placeholders.contains($0.name), limits: limits, problems)
        }
        outputs = manifest.outputs.map(\.name)
        if problems.problems.isEmpty, manifest.backend != .tensorflow {
            problems.add(
                "model.backend", "is \"\(manifest.backend.rawValue)\": only TensorFlow's SavedModels can be trained")
        }
        self.path = path
        model = path + "/" + manifest.file
        if problems.problems.isEmpty, !FileManager.default.fileExists(atPath: model + "/saved_model.pb") {
            problems.add("model.file", "\"\(manifest.file)\" is not a SavedModel: it has no saved_model.pb")
        }
        guard problems.problems.isEmpty else { throw refused() }
    }

    private static func operations(_ root: ManifestObject, _ problems: ProblemList) -> [String] {
        guard let train = root.object("train") else {
            problems.add("train", "is missing: expected {\"ops\": [\"NAME\"]}, the training operations of the graph")
            return []
        }
        let elements = train.elements("ops") ?? []
        let names = elements.compactMap { element -> String? in
            if case .string(let name) = element, !name.isEmpty { name } else { nil }
        }
        if names.isEmpty || names.count != elements.count {
            problems.add("train.ops", "expected the names of training operations in an array")
        }
        return names
    }
}
