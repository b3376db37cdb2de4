internal import CoreMLImport
internal import EngineAPI
internal import EngineImporters
internal import ImagePipeline
internal import Observations

/// Plans the features of a Core ML file: the file describes them, and a `model.json` may override the description.
extension ModelPlanner {
    func plan(_ file: any CoreMLModelFile, overrides: ModelManifest?) -> ModelPlan {
        let facts = file.facts, description = facts.description
        let inputLayers = match(description.inputs, with: overrides?.inputs ?? [], what: "input")
        let outputLayers = match(description.outputs, with: overrides?.outputs ?? [], what: "output")
        // The label and the probabilities have the same classes, so either entry may name the labels.
        let labels = outputLayers.lazy.compactMap { $0?.labels }.first
        var advice: [String] = []
        var inputs: [InputPlan] = []
        for (feature, layer) in zip(description.inputs, inputLayers) {
            guard let index = file.inputIndex(named: feature.name) else {
                // The engine removes parameters that no output depends on.
                problems.add("", "the model does not use its input \"\(feature.name)\"")
                continue
            }
            if let plan = input(feature, index: index, file: file, layer: layer) {
                inputs.append(plan)
                if plan.description.image?.channelOrder == .bgr, case .image(let given)? = layer?.kind {
                    advice += given.advice
                }
            }
            if let scaler = facts.scalers[feature.name], case .image(let image) = feature.type,
                layer?.given.contains("normalize") != true
            {
                advice += self.advice(feature.name, scaler, image).map { [$0] } ?? []
            }
        }
        var outputs: [OutputPlan] = []
        for (feature, layer) in zip(description.outputs, outputLayers) {
            if let plan = output(feature, file: file, layer: layer, givenLabels: labels) { outputs.append(plan) }
        }
        if outputs.isEmpty, problems.problems.isEmpty { problems.add("", "the model has no outputs") }
        return ModelPlan(inputs: inputs, outputs: outputs, inputShapes: [:], about: facts.about, advice: advice)
    }

    /// The boxes of a detector that a Core ML file describes, if a picture is its only required input.
    package var builtInObservations: [ObservationOutput] {
        guard let facts = (file as? any CoreMLModelFile)?.facts, let detections = facts.detections else { return [] }
        let needed = facts.description.inputs.filter { !$0.isOptional }
        guard needed.count == 1, case .image = needed[0].type else { return [] }
        var decoding = BoxDecoding(layout: .corners)
        decoding.form = .centers
        // The model itself has suppressed boxes that overlap or have a low confidence, and determines their number.
        decoding.suppression = .none
        decoding.threshold = 0
        decoding.maxDetections = 30_000
        func tensor(_ name: String) -> ObservationOutput.Tensor {
            ObservationOutput.Tensor(path: "description.output \"\(name)\"", name: name)
        }
        let boxes = tensor(detections.boxes)
        return [
            ObservationOutput(
                path: boxes.path, name: boxes.name, tensors: ["boxes": [boxes], "scores": [tensor(detections.scores)]],
                kind: .boxes(ObservationOutput.Boxes(decoding)),
                labels: detections.classes.isEmpty ? nil : detections.classes)
        ]
    }

    /// Finds the entry of model.json for each feature: by name, or by position if the numbers are equal and names
    /// differ.
    private func match(
        _ features: [FeatureSpecification], with layers: [ModelManifest.Layer], what: String
    ) -> [ModelManifest.Layer?] {
        let names = features.map(\.name)
        let unknown = layers.filter { !names.contains($0.name) }
        if !unknown.isEmpty, layers.count == features.count { return layers }
        for layer in unknown {
            problems.add(
                "\(layer.path).name", "the model file has no \(what) \"\(layer.name)\"; it has \(names.listed)")
        }
        return names.map { name in layers.first { $0.name == name } }
    }

    // MARK: Inputs

    private func input(
        _ feature: FeatureSpecification, index: Int, file: any CoreMLModelFile, layer: ModelManifest.Layer?
    ) -> InputPlan? {
        let port = file.inputs[index], isEvaluated = file.facts.isEvaluated
        let name = layer?.name ?? feature.name
        var fallback = feature.isOptional ? isEvaluated ? Double.nan : 0 : nil
        func description(_ kind: FeatureKind) -> FeatureDescription {
            FeatureDescription(
                name: name, elementType: port.elementType, shape: port.shape, fileShape: port.shape, kind: kind,
                isTransformed: false, image: nil, labels: nil
            ).optional(feature.isOptional, value: file.facts.defaults[feature.name] ?? fallback)
                .withSample(file.facts.samples[feature.name].flatMap(FeatureValue.init))
                .takingMissing(file.facts.missing.contains(feature.name) && port.elementType.isFloatingPoint)
        }
        switch feature.type {
        case .image(let image):
            guard
                var plan = inputPlan(
                    imageLayer(
                        feature, image, scaler: file.facts.scalers[feature.name], layer: layer,
                        isOpen: !port.shape.isStatic), index: index, port: port, shape: port.shape)
            else { return nil }
            let usual = Shape([1, image.colorSpace.channels, image.height, image.width])
            plan.description = plan.description.limited(to: ShapeLimits(image), default: usual)
            return plan
        case .string:
            return InputPlan(description: description(.text), index: index, kind: .feature, fallback: fallback)
        case .dictionary(let key):
            return InputPlan(
                description: description(.dictionary).withIntegerKeys(key == .int64), index: index, kind: .feature,
                fallback: fallback)
        case .multiArray(let array):
            if let value = array.defaultValue, feature.isOptional { fallback = value }
            // An input with an open extent has no default value, because its size is unknown.
            if !port.shape.isStatic { fallback = nil }
            return InputPlan(
                description: description(.array).optional(fallback != nil, value: fallback).limited(
                    to: ShapeLimits(array), default: array.shape.isEmpty ? nil : Shape(array.shape)),
                index: index, kind: .array(nil),
                fallback: fallback, isExact: isEvaluated)
        case .double, .int64:
            return InputPlan(
                description: description(.scalar), index: index, kind: .array(nil), fallback: fallback,
                isExact: isEvaluated)
        case .sequence, .state, .unset:
            problems.add(
                "description.input \"\(feature.name)\"", "features of type \(feature.type.name) are not supported")
            return nil
        }
    }

    /// Warns about biases with the wrong sign: some published networks add the mean of the training pictures instead of
    /// subtracting it.
    private func advice(_ name: String, _ scaler: ImageScaler, _ image: ImageFeature) -> String? {
        let biases = scaler.biases(image.colorSpace)
        guard scaler.channelScale > 0, biases.allSatisfy({ $0 > 0 }) else { return nil }
        let list = biases.map { String($0) }.joined(separator: ", ")
        return
            "the biases of input \"\(name)\" (\(list)) are positive, which looks like a mistake of sign: the mean is usually "
            + "subtracted. It is served as written; a model.json with \"normalize\" for the input overrides this"
    }

    /// The description of a picture in the form of model.json.
    /// - Parameter isOpen: whether requests may choose its size.
    private func imageLayer(
        _ feature: FeatureSpecification, _ image: ImageFeature, scaler: ImageScaler?, layer: ModelManifest.Layer?,
        isOpen: Bool
    ) -> ModelManifest.Layer {
        let channels = image.colorSpace.channels
        var description = ModelManifest.ImageLayer(
            scale: [Double](repeating: Double(scaler?.channelScale ?? 1), count: channels),
            bias: scaler.map { channels == 1 ? [$0.grayBias] : [$0.redBias, $0.greenBias, $0.blueBias] }?
                .map(Double.init) ?? [Double](repeating: 0, count: channels))
        description.channelOrder =
            switch image.colorSpace {
            case .bgr: .bgr
            case .rgb: .rgb
            case .grayscale, .grayscaleFloat16, .invalid: .gray
            }
        description.layout = .nchw
        if isOpen { description.openSize = OpenSize(image) }
        if case .image(let given)? = layer?.kind {
            description.cropAndScale = given.cropAndScale
            description.resampler = given.resampler
            description.resizeShorterSide = given.resizeShorterSide
            description.decodeMargin = given.decodeMargin
            description.fillColor = given.fillColor
            description.backgroundColor = given.backgroundColor
            if layer?.given.contains("format") == true { description.channelOrder = given.channelOrder }
            if layer?.given.contains("normalize") == true {
                description.scale = Array(given.scale.prefix(channels))
                description.bias = Array(given.bias.prefix(channels))
            }
        }
        return ModelManifest.Layer(
            path: layer?.path ?? "description.input \"\(feature.name)\"", name: layer?.name ?? feature.name,
            kind: .image(description), shape: [image.height, image.width, channels])
    }

    // MARK: Outputs

    // Long: one case for each type of an output.
    private func output(
        _ feature: FeatureSpecification, file: any CoreMLModelFile, layer: ModelManifest.Layer?, givenLabels: [String]?
    ) -> OutputPlan? {
        let facts = file.facts
        let isLabel = feature.name == facts.description.predictedFeatureName && facts.classifier != nil
        let isProbabilities = feature.name == facts.description.predictedProbabilitiesName
        let tensor = !facts.isEvaluated && (isLabel || isProbabilities) ? facts.classifier?.output : feature.name
        guard let index = file.outputIndex(named: tensor ?? feature.name) else {
            problems.add("description.output \"\(feature.name)\"", "the model does not produce it")
            return nil
        }
        let port = file.outputs[index]
        var labels = isProbabilities ? facts.classifier?.labels : nil
        if !facts.isEvaluated, isLabel { labels = facts.classifier?.labels }
        if let givenLabels, let own = labels {
            guard givenLabels.count == own.texts.count else {
                problems.add(
                    "\(layer?.path ?? "outputs").labels",
                    "the file has \(givenLabels.count) labels, the model has \(own.texts.count) classes")
                return nil
            }
            labels = .strings(givenLabels)
        }
        let kind: OutputPlan.Kind, word: FeatureKind
        var isTransformed = false, hasIntegerKeys = false
        switch feature.type {
        case .string, .int64:
            if !facts.isEvaluated, isLabel, let labels {
                (kind, word) = (.classLabel(labels), labels.areIntegers ? .scalar : .text)
            } else if case .string = feature.type {
                (kind, word) = (.feature, .text)
            } else {
                (kind, word) = (.array, .scalar)
            }
        case .dictionary(let key):
            hasIntegerKeys = key == .int64
            (kind, word) = (isProbabilities && labels != nil ? .array : .feature, .dictionary)
            isTransformed = layer?.activation != nil
        case .image(let image):
            var picture = ModelManifest.ImageLayer(
                scale: [Double](repeating: 1, count: image.colorSpace.channels),
                bias: [Double](repeating: 0, count: image.colorSpace.channels))
            picture.channelOrder = image.colorSpace == .bgr ? .bgr : image.colorSpace == .rgb ? .rgb : .gray
            picture.layout = .nchw
            let extents = port.shape.dimensions.suffix(2)
            guard extents.count == 2, let height = extents.first, let width = extents.last,
                port.shape.isStatic
                    ? port.shape.elementCount == height * width * image.colorSpace.channels
                    : port.shape.dimensions.count == 4 && port.shape.dimensions[1] == image.colorSpace.channels
            else {
                problems.add(
                    "description.output \"\(feature.name)\"",
                    "a tensor of shape \(port.shape) cannot be converted to a picture")
                return nil
            }
            (kind, word) = (.image(picture, width: width, height: height), .image)
        case .double: (kind, word) = (.array, .scalar)
        case .multiArray: (kind, word) = (.array, .array)
        case .sequence, .state, .unset:
            problems.add(
                "description.output \"\(feature.name)\"", "features of type \(feature.type.name) are not supported")
            return nil
        }
        var elementType = port.elementType
        var shape = port.shape
        if case .classLabel(let labels) = kind { (elementType, shape) = (labels.areIntegers ? .int64 : .string, [1]) }
        return OutputPlan(
            description: FeatureDescription(
                name: layer?.name ?? feature.name, elementType: elementType, shape: shape, fileShape: shape, kind: word,
                isTransformed: isTransformed, image: nil,
                labels: labels?.texts
            ).withIntegerKeys(hasIntegerKeys),
            index: index, kind: kind, linear: layer?.linear, activation: layer?.activation, scoreType: port.elementType)
    }
}

extension OpenSize {
    /// The longest side that a request may choose.
    private static let longest = 8_192

    /// The sizes of a picture with a default among them; nil if the file allows one size only.
    fileprivate init?(_ image: ImageFeature) {
        let usual = ImageSize(width: image.width, height: image.height)
        switch image.flexibility {
        case .none: return nil
        case .sizes(let sizes):
            let all = sizes.map { ImageSize(width: $0.width, height: $0.height) }
                .filter {
                    (1...Self.longest).contains($0.width) && (1...Self.longest).contains($0.height) || $0 == usual
                }
            func sides(_ choose: (ArraySlice<Int>) -> Int?) -> ImageSize {
                ImageSize(
                    width: choose(all.map(\.width)[...]) ?? usual.width,
                    height: choose(all.map(\.height)[...]) ?? usual.height)
            }
            self.init(minimum: sides { $0.min() }, maximum: sides { $0.max() })
            choices = all
        case .range(let width, let height):
            func upper(_ range: ExtentRange, _ usual: Int) -> Int {
                max(usual, range.upper > 0 ? min(range.upper, Self.longest) : Self.longest)
            }
            self.init(
                minimum: ImageSize(width: max(1, width.lower), height: max(1, height.lower)),
                maximum: ImageSize(width: upper(width, usual.width), height: upper(height, usual.height)))
        }
        self.usual = usual
    }
}

extension ShapeLimits {
    /// The allowed shapes of a picture's tensor; nil if the file allows one size only.
    fileprivate init?(_ image: ImageFeature) {
        let channels = image.colorSpace.channels
        switch image.flexibility {
        case .none: return nil
        case .sizes(let sizes):
            let own = [1, channels, image.height, image.width]
            self = .shapes([own] + sizes.map { [1, channels, $0.height, $0.width] }.filter { $0 != own })
        case .range(let width, let height):
            func range(_ range: ExtentRange) -> (lower: Int, upper: Int?) {
                (range.lower, range.upper > 0 ? range.upper : nil)
            }
            self = .ranges([(1, 1), (channels, channels), range(height), range(width)])
        }
    }

    /// The allowed shapes of an array; nil if the file allows one only.
    fileprivate init?(_ array: ArrayFeature) {
        switch array.flexibility {
        case .none: return nil
        case .shapes(let shapes):
            self = .shapes(array.shape.isEmpty ? shapes : [array.shape] + shapes.filter { $0 != array.shape })
        case .ranges(let ranges): self = .ranges(ranges.map { ($0.lower, $0.upper > 0 ? $0.upper : nil) })
        }
    }
}
