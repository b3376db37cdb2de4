internal import FoundationEssentials
internal import Glibc
internal import ImagePipeline
internal import Inference
internal import JSON
internal import ModelFacts
internal import ServicePlanning
package import Settings
internal import SystemSupport

/// Runs pictures through a model with every usual preprocessing that is still open, and ranks them by the confidence of
/// the first class, so that a person can see which one is right: `ocelli classify --try`.
package enum PreprocessingSearch {
    /// The model and the files of one run.
    package struct Request: Sendable {
        /// A bundle, a downloaded folder, or a model file.
        package var model = ""
        package var files: [String] = []
        /// The orientation of the stored pictures.
        package var orientation = ImageOrientation.apply

        package init() {}
    }

    /// The number of combinations with JSON in the output.
    private static let shown = 3

    /// Writes a line for each combination and picture, the most confident combination first, and the JSON of the best
    /// ones.
    /// - Returns: the number of pictures that failed.
    package static func run(
        _ request: Request, settings: Settings, output: (String) -> Void, complain: (String) -> Void,
        progress: (String) -> Void
    ) async throws -> Int {
        progress("loading the model...")
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        let path = ModelAtPath.resolved(request.model, note: complain)
        let model = try await ModelAtPath.load(path, plan.modelConfiguration)
        let search = try Search(model, bundle: path, top: settings.top)
        progress("")
        output(
            search.undecided.isEmpty
                ? "nothing is left to decide" : "to decide: \(search.undecided.sorted().joined(separator: ", "))")
        var failed = 0
        if let remark = search.remark { output(remark) }
        // The lines of each picture, and the sum of confidences, by combination.
        var lines: [(file: String, texts: [String])] = []
        var confidences = [Double](repeating: 0, count: search.combinations.count)
        for (number, file) in request.files.enumerated() {
            progress("\(number + 1) of \(request.files.count): \(file)")
            do {
                let bytes = try InputFile.read(file, maximum: settings.maxBody)
                var found: [Search.Scores] = []
                for combination in search.combinations {
                    found.append(try await search.scores(bytes, combination.spec, request.orientation))
                }
                for (index, scores) in found.enumerated() { confidences[index] += scores.confidence }
                lines.append((file, found.map(search.text)))
            } catch {
                failed += 1
                complain(
                    "\(PrintableText.text(file)): \((error as? InferenceError)?.message ?? (error as? ImageError)?.message ?? (error as? CommandError)?.description ?? "\(error)")"
                )
            }
        }
        progress("")
        let order = confidences.indices.sorted { (confidences[$1], $0) < (confidences[$0], $1) }
        for (file, texts) in lines {
            output(PrintableText.text(file))
            for index in order { output("  \(search.combinations[index].words): \(texts[index])") }
        }
        guard order.count > 1, !lines.isEmpty else { return failed }
        output(
            "for the first input in model.json, by the mean confidence of the first class; check that the classes are right:"
        )
        for (place, index) in order.prefix(shown).enumerated() {
            let mean = TensorComparison.rounded(confidences[index] / Double(lines.count) * 100)
            output("  \(place + 1). \(mean)%  \(search.combinations[index].json)")
        }
        return failed
    }

    private struct Search {
        struct Combination {
            let words: String
            /// The members of the input in model.json.
            let json: String
            let spec: ImageTensorSpec
        }

        /// The values of the output with a number for each class.
        struct Scores {
            let values: [Double]
            /// True if they are the softmax of the output's values.
            let areOfLogits: Bool

            /// The confidence of the first class.
            var confidence: Double {
                let greatest = values.max() ?? 0
                guard values.allSatisfy(\.isFinite) else { return 0 }
                guard !values.allSatisfy({ $0 >= 0 && $0 <= 1 }) else { return greatest }
                return 1 / values.reduce(0) { $0 + exp($1 - greatest) }
            }
        }

        let model: Model
        let undecided: Set<String>
        let combinations: [Combination]
        private let labels: [String]?
        private let input: FeatureDescription
        private let outputIndex: Int
        /// A remark on the names of classes; nil if the model has names.
        let remark: String?
        /// The number of classes in a line.
        private let top: Int

        init(_ model: Model, bundle: String, top: Int) throws(CommandError) {
            self.model = model
            self.top = top
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
                        let members = [
                            orders.count > 1 ? "\"format\": \"\(order.rawValue)\"" : nil,
                            normalization.map { $0.json(order).map { "\"normalize\": \($0)" } ?? "no \"normalize\"" },
                            geometry.map { "\"crop_and_scale\": \"\($0.0)\"" },
                        ].compactMap { $0 }
                        let words = [
                            orders.count > 1 ? order.rawValue : nil, normalization?.words,
                            geometry.map { "crop \($0.0)" },
                        ].compactMap { $0 }
                        list.append(
                            Combination(
                                words: words.isEmpty ? "as it is" : words.joined(separator: ", "),
                                json: members.joined(separator: ", "), spec: spec))
                    }
                }
            }
            return list
        }

        /// The output's values: as the bundle defines them, otherwise as probabilities.
        func scores(
            _ bytes: [UInt8], _ spec: ImageTensorSpec, _ orientation: ImageOrientation
        ) async throws -> Scores {
            let pipeline = try ImagePipeline(spec: spec, limits: ImageLimits())
            var tensor = [UInt8](repeating: 0, count: spec.byteCount)
            let decoding = ImageDecodeOptions(orientation: orientation)
            try bytes.withUnsafeBytes { picture in
                try tensor.withUnsafeMutableBytes { tensor in
                    _ = try pipeline.prepare(picture, into: tensor, options: decoding)
                }
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
            guard output.labels == nil, output.treatment == nil else {
                return Scores(values: values, areOfLogits: false)
            }
            let sum = values.reduce(0, +)
            let areProbabilities = values.allSatisfy { $0 >= 0 && $0 <= 1 } && abs(sum - 1) < 0.01
            guard !areProbabilities, let highest = values.max(), highest.isFinite else {
                return Scores(values: values, areOfLogits: false)
            }
            let powers = values.map { exp($0 - highest) }
            let total = powers.reduce(0, +)
            return Scores(values: powers.map { $0 / total }, areOfLogits: true)
        }

        func text(_ scores: Scores) -> String {
            let best = scores.values.enumerated().sorted { ($1.element, $0.offset) < ($0.element, $1.offset) }.prefix(
                top)
            let classes = best.map { index, value in
                let label = labels.flatMap { index < $0.count ? $0[index] : nil } ?? "class \(index)"
                return "\(PrintableText.text(label)) \(TensorComparison.rounded(value * 100))%"
            }
            return classes.joined(separator: ", ") + (scores.areOfLogits ? " (softmax of logits)" : "")
        }
    }
}
