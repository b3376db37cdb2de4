package import EngineAPI
internal import EngineImporters
internal import FileFormats
package import ImagePipeline

/// Matches the description of a bundle with its model file: every layer must have a tensor, with the same type and
/// shape; otherwise a problem states the difference.
package struct ModelPlanner {
    package let file: any ModelFile
    package let limits: ImageLimits
    package let problems = ProblemList()

    package init(file: any ModelFile, limits: ImageLimits) {
        self.file = file
        self.limits = limits
    }

    /// The processing of the tensors of a bundle's model file.
    package func plan(_ bundle: ModelBundle) -> ModelPlan {
        if let file = file as? any CoreMLModelFile { return plan(file, overrides: bundle.manifest) }
        return if let manifest = bundle.manifest { plan(manifest) } else { plan() }
    }

    /// The forms of outputs that may not be tensors of numbers; nil for engines that have only such tensors.
    private var forms: [OutputForm]? { (file as? any ValueModelFile)?.forms }

    // MARK: With a manifest

    package func plan(_ manifest: ModelManifest) -> ModelPlan {
        refuseStrings()
        // TensorIO identifies tensors of TensorFlow Lite by position; only there may the bundle choose the names.
        let byPlace = manifest.backend == .tflite
        let inputPorts = match(
            manifest.inputs, with: file.inputs, what: "input", byPlace: byPlace, find: file.inputIndex(named:))
        let outputPorts = match(
            manifest.outputs, with: file.outputs, what: "output", byPlace: byPlace,
            isPartial: !manifest.observations.isEmpty, find: file.outputIndex(named:))
        var shapes: [Int: Shape] = [:]
        var inputs: [InputPlan] = []
        for (layer, index) in zip(manifest.inputs, inputPorts) {
            guard let index else { continue }
            let port = file.inputs[index]
            checkType(layer, port: port, quantized: manifest.quantized)
            guard let shape = resolvedShape(layer, port: port) else { continue }
            if shape != port.shape { shapes[index] = shape }
            guard let plan = inputPlan(layer, index: index, port: port, shape: shape) else { continue }
            inputs.append(plan)
        }
        var outputs = zip(manifest.outputs, outputPorts).compactMap { layer, index -> OutputPlan? in
            guard let index else { return nil }
            let port = file.outputs[index]
            checkType(layer, port: port, quantized: manifest.quantized)
            return outputPlan(layer, index: index, port: port)
        }
        // Outputs of a detector that are not needed are served as tensors.
        if !manifest.observations.isEmpty {
            for (index, port) in file.outputs.enumerated() where !outputPorts.contains(index) {
                outputs.append(plainOutput(port, index))
            }
        }
        checkDepth(manifest, inputs)
        return ModelPlan(inputs: inputs, outputs: outputs, inputShapes: shapes, advice: manifest.advice)
    }

    /// Adds a problem for a depth map without the one picture that it is a map of.
    private func checkDepth(_ manifest: ModelManifest, _ inputs: [InputPlan]) {
        let maps = manifest.outputs.filter { if case .depth = $0.kind { true } else { false } }
        guard let map = maps.first, manifest.inputs.count != 1 || !inputs.allSatisfy(\.isPicture) else { return }
        problems.add("\(map.path).type", "is \"depth\", which needs exactly one input, of type \"image\"")
    }

    /// Adds a problem for each string tensor: the engine does not support them.
    private func refuseStrings() {
        guard forms == nil else { return }
        for (what, ports) in [("input", file.inputs), ("output", file.outputs)] {
            for port in ports where port.elementType == .string {
                problems.add("", "the model file's \(what) \"\(port.name)\" holds strings, which cannot be served")
            }
        }
    }

    /// The index of each layer's tensor.
    private func match(
        _ layers: [ModelManifest.Layer], with ports: [TensorPort], what: String, byPlace: Bool,
        isPartial: Bool = false, find: (String) -> Int?
    ) -> [Int?] {
        let names = ports.map(\.name)
        if layers.count != ports.count, !isPartial {
            problems.add(
                "\(what)s",
                "the bundle describes \(layers.count), the model file has \(ports.count): \(names.listed)")
        }
        let found = layers.map { find($0.name) }
        if byPlace, layers.count == ports.count, Set(found.compactMap { $0 }).count != layers.count {
            return Array(ports.indices)
        }
        for (layer, index) in zip(layers, found) where index == nil {
            problems.add(
                layer.namePath ?? "\(layer.path).name",
                "the model file has no \(what) \"\(layer.name)\"; it has \(names.listed)")
        }
        return found
    }

    private func checkType(_ layer: ModelManifest.Layer, port: TensorPort, quantized: Bool) {
        if let type = layer.elementType, type != port.elementType {
            problems.add(
                "\(layer.path).dtype",
                "is \"\(type.rawValue)\", but the model file's tensor \"\(port.name)\" holds \(port.elementType.rawValue)"
            )
        }
        if quantized, port.elementType.isFloatingPoint {
            problems.add(
                "model.quantized",
                "is true, but the model file's tensor \"\(port.name)\" holds \(port.elementType.rawValue)")
        }
    }

    /// The tensor's shape with every axis fixed that the bundle fixes; a batch axis becomes 1.
    private func resolvedShape(_ layer: ModelManifest.Layer, port: TensorPort) -> Shape? {
        let wanted: [Int]
        if case .image(let image) = layer.kind {
            let dimensions = Array(layer.shape.dimensions.suffix(3))
            guard dimensions.count == 3 else { return nil }
            wanted = image.layout == .nhwc ? dimensions : [dimensions[2], dimensions[0], dimensions[1]]
        } else {
            wanted = layer.shape.dimensions
        }
        let want = Shape(wanted).withoutBatch
        let isImage = if case .image = layer.kind { true } else { false }
        let isOpen = isImage && wanted.contains(Shape.dynamic)
        var dimensions = port.shape.dimensions
        // Axes are compared from the innermost; remaining axes of either shape must have extent 1.
        for (offset, axis) in dimensions.indices.reversed().enumerated() {
            let extent = offset < wanted.count ? wanted[wanted.count - 1 - offset] : 1
            let staysOpen = extent == Shape.dynamic && isOpen && offset < wanted.count
            if dimensions[axis] == Shape.dynamic, !staysOpen { dimensions[axis] = max(extent, 1) }
        }
        let shape = Shape(dimensions)
        // The other axes of a picture's shape are compared below.
        if isOpen,
            shape.dimensions.suffix(wanted.count).map({ $0 == Shape.dynamic }) != wanted.map({ $0 == Shape.dynamic })
        {
            problems.add(
                "\(layer.path).shape",
                "\(layer.shape) leaves a side open that the model file's tensor \"\(port.name)\" of shape \(port.shape) fixes"
            )
            return nil
        }
        let agrees = isImage ? shape.withoutBatch == want : shape.elementCount == Shape(want).elementCount
        guard agrees else {
            let layout = isImage && wanted != Array(layer.shape.dimensions.suffix(3)) ? " as NCHW" : ""
            problems.add(
                "\(layer.path).shape",
                "\(layer.shape)\(layout) does not fit the model file's tensor \"\(port.name)\" of shape \(port.shape)"
                    + (isImage ? hint(layer, port: port) : ""))
            return nil
        }
        return shape
    }

    /// A hint about the layout: axes of a picture in the other order are the most common mistake.
    private func hint(_ layer: ModelManifest.Layer, port: TensorPort) -> String {
        let tail = port.shape.dimensions.suffix(3)
        guard tail.count == 3, let first = tail.first, let last = tail.last else { return "" }
        if (first == 3 || first == 1) && !(last == 3 || last == 1) { return "; is \"layout\": \"NCHW\" missing?" }
        if (last == 3 || last == 1) && !(first == 3 || first == 1) { return "; did you mean \"layout\": \"NHWC\"?" }
        return ""
    }

    func inputPlan(_ layer: ModelManifest.Layer, index: Int, port: TensorPort, shape: Shape) -> InputPlan? {
        var constraint: ImageConstraint?
        let kind: InputPlan.Kind
        switch layer.kind {
        case .image(let image):
            guard let pipeline = pipeline(layer, image: image, port: port, shape: shape) else { return nil }
            let spec = pipeline.spec
            constraint = ImageConstraint(
                width: spec.width, height: spec.height, openSize: spec.openSize, channelOrder: spec.channelOrder,
                layout: spec.layout,
                cropAndScale: spec.cropAndScale, scale: spec.scale, bias: spec.bias)
            kind = .image(pipeline)
        case .bytes: kind = .bytes
        case .array, .scalar, .depth: kind = port.elementType == .string ? .feature : .array(layer.linear)
        }
        return InputPlan(
            description: FeatureDescription(
                name: layer.name, elementType: port.elementType, shape: shape, fileShape: port.shape,
                kind: port.elementType == .string ? .text : layer.kind.feature, isTransformed: layer.linear != nil,
                image: constraint, labels: nil
            ).limited(to: ShapeLimits(layer, shape)).takingMissing(port.elementType.isFloatingPoint),
            index: index, kind: kind, isExact: forms != nil)
    }

    private func pipeline(
        _ layer: ModelManifest.Layer, image: ModelManifest.ImageLayer, port: TensorPort, shape: Shape
    ) -> ImagePipeline? {
        guard let element = port.elementType.pixelElement else {
            problems.add(
                layer.path,
                "a picture does not fit a tensor of \(port.elementType.rawValue): "
                    + "expected uint8, int8, int32, float16 or float32")
            return nil
        }
        do throws(ImageError) {
            return try ImagePipeline(spec: Self.spec(layer, image: image, element: element), limits: limits)
        } catch {
            problems.add(layer.path, error.message)
            return nil
        }
    }

    /// The specification of the tensor that a layer's pictures are converted to.
    package static func spec(
        _ layer: ModelManifest.Layer, image: ModelManifest.ImageLayer, element: PixelElement
    ) -> ImageTensorSpec {
        let dimensions = Array(layer.shape.dimensions.suffix(3))
        // normalize is applied first: q(p * s + b) = p * (s * qs) + (b + qb) * qs
        var scale = image.scale, bias = image.bias
        if case .biasThenScale(let quantizeScale, let quantizeBias)? = layer.linear {
            scale = scale.map { $0 * quantizeScale }
            bias = bias.map { ($0 + quantizeBias) * quantizeScale }
        }
        func rgb(_ color: [UInt8]) -> RGBColor { RGBColor(red: color[0], green: color[1], blue: color[2]) }
        var spec = ImageTensorSpec(
            width: image.openSize?.maximum.width ?? dimensions[1],
            height: image.openSize?.maximum.height ?? dimensions[0])
        spec.openSize = image.openSize
        spec.channelOrder = image.channelOrder
        spec.layout = image.layout
        spec.element = element
        spec.scale = scale.map { Float($0) }
        spec.bias = bias.map { Float($0) }
        spec.cropAndScale = image.cropAndScale
        spec.resampler = image.resampler
        spec.normalization = layer.linear == nil ? image.normalization : nil
        spec.resizeShorterSide = image.resizeShorterSide
        spec.resizeExactly = image.resizeExactly
        spec.resizeKeepingShape = image.resizeKeepingShape
        spec.keepsSize = image.keepsSize
        spec.centering = image.centering
        spec.alignment = image.alignment
        spec.decodeMargin = image.decodeMargin
        spec.background = rgb(image.backgroundColor)
        spec.fill = rgb(image.fillColor)
        return spec
    }

    private func outputPlan(_ layer: ModelManifest.Layer, index: Int, port: TensorPort) -> OutputPlan? {
        // A dynamic batch becomes one item, as for inputs.
        var dimensions = port.shape.dimensions
        if dimensions.first == Shape.dynamic { dimensions[0] = 1 }
        let shape = Shape(dimensions)
        let kind: OutputPlan.Kind
        switch layer.kind {
        case .array where isValue(index), .scalar where isValue(index): kind = .feature
        case .array: kind = .array
        case .scalar: kind = .scalar
        case .bytes: kind = .bytes
        case .depth:
            guard shape.plane != nil, port.elementType.byteCount > 0 else {
                problems.add(
                    "\(layer.path).type",
                    "is \"depth\", but the model file's tensor \"\(port.name)\" of shape \(port.shape) has no number for each "
                        + "position: expected [1, height, width] or [1, 1, height, width]")
                return nil
            }
            kind = .depth
        case .image(let image):
            let extents = Array(layer.shape.dimensions.suffix(3))
            guard extents.count == 3 else { return nil }
            kind = .image(image, width: extents[1], height: extents[0])
            guard hasPixels(layer, image, port, shape, extents) else { return nil }
        }
        var wanted = layer.shape
        if wanted.dimensions.first == Shape.dynamic { wanted.dimensions[0] = 1 }
        if !layer.isAsInFile, let count = shape.elementCount, let described = wanted.elementCount, count != described {
            problems.add(
                "\(layer.path).shape",
                "\(layer.shape) has \(described) elements, the model file's tensor \"\(port.name)\" of shape \(port.shape) "
                    + "has \(count)")
            return nil
        }
        let ownLabels = self.labels(index)
        if let labels = layer.labels {
            let classes = shape.elementCount ?? wanted.elementCount
            if let classes, classes != labels.count {
                problems.add(
                    "\(layer.path).labels",
                    "the file has \(labels.count) labels, the model file's tensor \"\(port.name)\" has \(classes) classes"
                )
                return nil
            }
        }
        var description = FeatureDescription(
            name: layer.name, elementType: port.elementType, shape: shape, fileShape: port.shape,
            kind: port.elementType == .string ? .text : layer.kind.feature,
            isTransformed: layer.linear != nil || layer.activation != nil, image: nil, labels: layer.labels ?? ownLabels
        )
        description.activation = layer.activation?.rawValue
        return OutputPlan(
            description: description.composed(composition(index)), index: index,
            kind: kind,
            linear: layer.linear,
            activation: layer.activation,
            scoreType: port.elementType)
    }

    /// True if the channels and sides of a picture of open size match the tensor's. Pictures of fixed size are compared
    /// by their number of elements.
    private func hasPixels(
        _ layer: ModelManifest.Layer, _ image: ModelManifest.ImageLayer, _ port: TensorPort, _ shape: Shape,
        _ extents: [Int]
    ) -> Bool {
        guard extents.contains(Shape.dynamic) else { return true }
        let wanted = image.layout == .nhwc ? extents : [extents[2], extents[0], extents[1]]
        let found = shape.dimensions.suffix(3)
        let agrees =
            found.count == 3
            && zip(found, wanted).allSatisfy { $0 == $1 || $0 == Shape.dynamic }
        if !agrees {
            problems.add(
                "\(layer.path).shape",
                "\(layer.shape) in layout \(image.layout.rawValue) does not fit the model file's tensor \"\(port.name)\" of shape "
                    + "\(port.shape)")
        }
        return agrees
    }

    // MARK: Without a manifest

    /// The tensors of a bare model file, unchanged; a tensor without a name is named by its position.
    func plan() -> ModelPlan {
        refuseStrings()
        // Some engines accept an empty file.
        if file.outputs.isEmpty { problems.add("", "the model file has no outputs: is it empty or truncated?") }
        return ModelPlan(
            inputs: file.inputs.enumerated().map { index, port in
                InputPlan(
                    description: plain(port, index, "input").takingMissing(port.elementType.isFloatingPoint),
                    index: index,
                    kind: port.elementType == .string ? .feature : .array(nil), isExact: forms != nil)
            },
            outputs: file.outputs.enumerated().map { plainOutput($1, $0) },
            inputShapes: [:])
    }

    private func plain(_ port: TensorPort, _ index: Int, _ what: String) -> FeatureDescription {
        FeatureDescription(
            name: port.name.isEmpty ? "\(what)_\(index)" : port.name,
            elementType: port.elementType, shape: port.shape, fileShape: port.shape,
            kind: port.elementType == .string ? .text : .array,
            isTransformed: false, image: nil, labels: what == "output" ? labels(index) : nil)
    }

    private func plainOutput(_ port: TensorPort, _ index: Int) -> OutputPlan {
        OutputPlan(
            description: plain(port, index, "output").composed(composition(index)), index: index,
            kind: isValue(index) ? .feature : .array, linear: nil, activation: nil, scoreType: port.elementType)
    }

    /// True if the engine returns an output as a value.
    private func isValue(_ output: Int) -> Bool {
        if case .values? = forms?[output] { true } else { false }
    }

    /// The composition of an output that is no tensor; nil for a tensor.
    private func composition(_ output: Int) -> ValueComposition? {
        if case .values(let composition)? = forms?[output] { composition } else { nil }
    }

    /// The labels for an output in the model file; nil if it has no labels.
    private func labels(_ output: Int) -> [String]? {
        if case .labelled(let labels)? = forms?[output] { labels.texts } else { nil }
    }
}
