internal import FoundationEssentials
internal import Glibc
internal import ImagePipeline
internal import Inference
internal import JSON
internal import ModelFacts
internal import ServicePlanning
package import Settings
internal import SystemSupport

/// Runs pictures through a model with every usual preprocessing that is still open, so that a person can see which one
/// is right: `ocelli classify --try`.
package enum PreprocessingSearch {
    /// The model and the files of one run.
    package struct Request: Sendable {
        /// A bundle, a downloaded folder, or a model file.
        package var model = ""
        package var files: [String] = []

        package init() {}
    }

    private static let shown = 3

    /// Writes a line for each combination and picture.
    /// - Returns: the number of pictures that failed.
    package static func run(
        _ request: Request, settings: Settings, output: (String) -> Void, complain: (String) -> Void,
        progress: (String) -> Void
    ) async throws -> Int {
        progress("loading the model...")
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        let model = try await ModelAtPath.load(request.model, plan.modelConfiguration)
        let search = try Search(model, bundle: request.model)
        progress("")
        output(
            search.undecided.isEmpty
                ? "nothing is left to decide" : "to decide: \(search.undecided.sorted().joined(separator: ", "))")
        var failed = 0
        if let remark = search.remark { output(remark) }
        for file in request.files {
            do {
                let bytes = try InputFile.read(file, maximum: settings.maxBody)
                output(file)
                for combination in search.combinations {
                    let scores = try await search.scores(bytes, combination.spec)
                    output("  \(combination.words): \(search.text(scores))")
                }
            } catch {
                failed += 1
                complain(
                    "\(PrintableText.text(file)): \((error as? InferenceError)?.message ?? (error as? ImageError)?.message ?? (error as? CommandError)?.description ?? "\(error)")"
                )
            }
        }
        return failed
    }

    private struct Search {
        struct Combination {
            let words: String
            let spec: ImageTensorSpec
        }

        let model: Model
        let undecided: Set<String>
        let combinations: [Combination]
        private let labels: [String]?
        private let input: FeatureDescription
        private let outputIndex: Int
        /// A remark on the names of classes; nil if the model has names.
        let remark: String?

        init(_ model: Model, bundle: String) throws(CommandError) {
            self.model = model
            guard model.description.inputs.count == 1, let input = model.description.inputs.first,
                let element = PixelElement(rawValue: input.elementType.rawValue),
                let picture = Self.picture(input)
            else {
                throw CommandError("\(bundle) does not take one picture of a fixed size")
            }
            self.input = input
            let outputs = model.description.outputs
            if model.description.classLabels == nil, let task = model.tasks.first {
                throw CommandError(
                    "\(bundle) has no labels of classes: it answers /v1/\(task.rawValue), and --try prints the top classes"
                )
            }
            // The output with one value for each class.
            guard let output = outputs.firstIndex(where: { $0.labels != nil }) ?? outputs.firstIndex(where: Self.isList)
            else { throw CommandError("\(bundle) has no output with a value for each class") }
            outputIndex = output
            let assumed = Self.assumed(outputs[output])
            labels = outputs[output].labels ?? assumed
            remark =
                outputs[output].labels != nil
                ? nil
                : "output \"\(outputs[output].name)\" has no labels: "
                    + (assumed == nil ? "classes are shown by their numbers" : "those of ImageNet are shown")
            var base = ImageTensorSpec(width: picture.width, height: picture.height)
            base.layout = picture.isPlanar ? .nchw : .nhwc
            base.channelOrder = picture.channels == 1 ? .gray : .rgb
            base.element = element
            var open = Set(model.provenance?.undecided ?? [])
            if let spec = model.imageSpec {
                base = spec
                open.formUnion(Self.marks(in: bundle))
            } else {
                // Without a complete description none of these is applied, so each of them is tried.
                open.formUnion(["format", "normalize", "crop_and_scale"])
            }
            undecided = open.intersection(["format", "normalize", "crop_and_scale"])
            combinations = Self.combinations(base, undecided)
        }

        /// True if an output is a single list of numbers.
        private static func isList(_ output: FeatureDescription) -> Bool {
            let extents = output.shape.dimensions.filter { $0 != 1 }
            return extents.count == 1 && extents[0] > 1
        }

        /// ImageNet's names, if the number of classes matches, because a person cannot interpret numbers.
        private static func assumed(_ output: FeatureDescription) -> [String]? {
            ImageNetLabels.names.lazy.compactMap(ImageNetLabels.named).first { $0.count == output.shape.elementCount }
        }

        private static func picture(_ input: FeatureDescription) -> (
            width: Int, height: Int, channels: Int, isPlanar: Bool
        )? {
            if let image = input.image {
                return (image.width, image.height, image.channelOrder.channels, image.layout == .nchw)
            }
            var extents = input.shape.dimensions
            if extents.count == 4 { extents.removeFirst() }
            guard extents.count == 3, extents.allSatisfy({ $0 > 0 }) else { return nil }
            if [1, 3].contains(extents[0]) { return (extents[2], extents[1], extents[0], true) }
            return [1, 3].contains(extents[2]) ? (extents[1], extents[0], extents[2], false) : nil
        }

        /// The parts of the preprocessing that are marked with `$decide` in model.json.
        private static func marks(in bundle: String) -> Set<String> {
            guard
                let text = FileManager.default.contents(atPath: bundle + "/model.json").map({
                    String(decoding: $0, as: UTF8.self)
                })
            else { return [] }
            let marks = text.split(separator: "\n").filter { $0.contains("\"$decide\"") }.joined()
            return Set(["format", "normalize", "crop_and_scale"].filter { marks.contains("\($0):") })
        }

        private static func combinations(_ base: ImageTensorSpec, _ open: Set<String>) -> [Combination] {
            let orders: [ChannelOrder] =
                open.contains("format") && base.channels == 3 ? [.rgb, .bgr] : [base.channelOrder]
            let isFloat = base.element == .float32 || base.element == .float16
            let normalizations: [PreprocessingVariants.Normalization?] =
                open.contains("normalize") && isFloat ? PreprocessingVariants.normalizations : [nil]
            let geometries: [(String, CropAndScale)?] =
                open.contains("crop_and_scale")
                ? [("center", .centerCrop), ("fit", .scaleFit), ("fill", .scaleFill)] : [nil]
            var list: [Combination] = []
            for order in orders {
                for normalization in normalizations {
                    for geometry in geometries {
                        var spec = base
                        spec.channelOrder = order
                        if let form = normalization?.form {
                            spec.normalization = PixelNormalization(
                                rescale: form.rescale, offset: form.offset,
                                mean: Array(form.mean.prefix(spec.channels)),
                                std: Array(form.std.prefix(spec.channels)))
                        }
                        if let mode = geometry?.1 { spec.cropAndScale = mode }
                        let words = [
                            orders.count > 1 ? order.rawValue : nil, normalization?.words,
                            geometry.map { "crop \($0.0)" },
                        ].compactMap { $0 }
                        list.append(
                            Combination(words: words.isEmpty ? "as it is" : words.joined(separator: ", "), spec: spec))
                    }
                }
            }
            return list
        }

        /// The output's values: as the bundle defines them, otherwise as probabilities.
        func scores(_ bytes: [UInt8], _ spec: ImageTensorSpec) async throws -> (values: [Double], isLogits: Bool) {
            let pipeline = try ImagePipeline(spec: spec, limits: ImageLimits())
            var tensor = [UInt8](repeating: 0, count: spec.byteCount)
            try bytes.withUnsafeBytes { picture in
                try tensor.withUnsafeMutableBytes { tensor in _ = try pipeline.prepare(picture, into: tensor) }
            }
            let array = try MultiArray(elementType: input.elementType, shape: input.shape, bytes: tensor)
            var options = PredictionOptions()
            options.usesTensors = true
            let prediction = try await model.prediction(
                from: DictionaryFeatureProvider([(name: input.name, value: .multiArray(array))]), options: options)
            let name = model.description.outputs[outputIndex].name
            let values: [Double] =
                switch prediction.featureValue(for: name) {
                case .multiArray(let array)?: array.doubles
                case .dictionary(let entries)?: entries.map(\.value)
                default: []
                }
            let output = model.description.outputs[outputIndex]
            guard output.labels == nil, output.treatment == nil else { return (values, false) }
            let sum = values.reduce(0, +)
            let areProbabilities = values.allSatisfy { $0 >= 0 && $0 <= 1 } && abs(sum - 1) < 0.01
            guard !areProbabilities, let highest = values.max(), highest.isFinite else { return (values, false) }
            let powers = values.map { exp($0 - highest) }
            let total = powers.reduce(0, +)
            return (powers.map { $0 / total }, true)
        }

        func text(_ scores: (values: [Double], isLogits: Bool)) -> String {
            let best = scores.values.enumerated().sorted { ($1.element, $0.offset) < ($0.element, $1.offset) }.prefix(
                shown)
            let classes = best.map { index, value in
                let label = labels.flatMap { index < $0.count ? $0[index] : nil } ?? "class \(index)"
                return "\(PrintableText.text(label)) \(TensorComparison.rounded(value * 100))%"
            }
            return classes.joined(separator: ", ") + (scores.isLogits ? " (softmax of logits)" : "")
        }
    }
}
