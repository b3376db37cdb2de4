/// A network as a graph, with the data needed to fill its inputs and read its outputs.
package struct TranslatedNetwork: Sendable {
    /// Parameters have the names and shapes of the inputs in the description; images are [1, C, H, W] of values 0 to
    /// 255, to which the caller applies scale and bias. Results have the names of the outputs in the description.
    package var graph: Graph
    /// The scalers to apply to images before they are passed to the graph, by input. A mean image is part of the graph.
    package var scalers: [String: ImageScaler]
    /// For a classifier: the labels, and the name of the result with their probabilities, a list.
    package var classifier: (labels: ClassLabels, probabilities: String)?
    /// True if inputs accept sequences of any length.
    package var hasSequences = false
}

/// Translates neural networks (NeuralNetwork.proto) to graphs.
package enum NetworkTranslator {
    /// The maximum number of operations, more than real networks have. A small file could otherwise unroll to millions.
    static let maximumOperations = 200_000
    /// The maximum number of axes that the engine supports.
    static let maximumRank = 8

    /// The names of the supported layers, from NeuralNetworkLayer.
    package static var layerNames: [String] {
        (LayerTable.translators.values.map(\.name) + ControlLayers.names.values).sorted()
    }

    /// Translates a network with this description. Throws all problems together.
    /// - Parameters:
    ///   - innerImages: the images to scale and shift in the graph, with the color space in which they
    ///     arrive.
    ///   - takesSequences: true if requests may pass inputs of old networks as sequences of any length.
    package static func translate(
        _ network: NeuralNetwork, _ description: InterfaceSpecification,
        innerImages: [String: ImageFeature.ColorSpace] = [:], opensExtents: Bool = true, opensImages: Bool = false,
        takesSequences: Bool = false
    ) throws(ImportError) -> TranslatedNetwork {
        var sequences: Set<String> = []
        if opensExtents, takesSequences {
            do throws(Problem) {
                sequences = try SequenceInputs.names(network, description)
            } catch {
                throw ImportError([error])
            }
        }
        var translation = NetworkTranslation(
            network, description, innerImages: innerImages, opensExtents: opensExtents, opensImages: opensImages,
            sequences: sequences)
        do throws(ImportError) {
            return try translation.run()
        } catch {
            guard opensExtents else { throw error }
            // Some layers need known extents: retry with the default shapes.
            guard !sequences.isEmpty || description.inputs.contains(where: { $0.hasDefaultShape }) else { throw error }
            translation = NetworkTranslation(
                network, description, innerImages: innerImages, opensExtents: false, opensImages: false, sequences: [])
            return try translation.run()
        }
    }
}

/// A network during translation.
struct NetworkTranslation {
    let network: NeuralNetwork
    let description: InterfaceSpecification
    /// The images to scale and shift in the graph, with the color space in which they arrive.
    let innerImages: [String: ImageFeature.ColorSpace]
    /// True to leave extents open that requests may choose; false for the default shapes.
    let opensExtents: Bool
    /// True to leave the sides of pictures open, too.
    let opensImages: Bool
    /// The inputs that accept sequences of any length.
    let sequences: Set<String>
    /// The graph, or the body of the current loop.
    var graph = GraphBuilder()
    var problems = ProblemCollector()
    /// The known blobs by name; `nil` for outputs of layers with a problem.
    var blobs: [String: Blob?] = [:]
    var scalers: [String: ImageScaler] = [:]
    private var scaledImages: Set<String> = []
    /// The prefix of locations: the layer that contains the current network, or empty.
    var scope = ""
    var layerRuns = 0
    /// The product of the rounds of all enclosing loops.
    var outerRounds = 1
    /// The number of layers and outputs that use each blob, in the whole network; computed at the first loop.
    var uses: [String: Int]?
    /// The maximum number of characters of a layer's name in messages and in the graph.
    static let shownName = 100

    init(
        _ network: NeuralNetwork, _ description: InterfaceSpecification, innerImages: [String: ImageFeature.ColorSpace],
        opensExtents: Bool, opensImages: Bool, sequences: Set<String>
    ) {
        self.network = network
        self.description = description
        self.innerImages = innerImages
        self.opensExtents = opensExtents
        self.opensImages = opensImages
        self.sequences = sequences
    }

    mutating func run() throws(ImportError) -> TranslatedNetwork {
        for feature in description.inputs {
            let blob: Blob? = collect(at: "input \"\(feature.name)\"") { (translation) throws(Problem) -> Blob in
                try translation.parameter(for: feature)
            }
            blobs[feature.name] = .some(blob)
        }
        // Scalers come before mean images, whatever their order in the file.
        let steps = Array(network.preprocessing.enumerated())
        for (index, step) in steps.filter(\.element.isScaler) + steps.filter({ !$0.element.isScaler }) {
            _ = collect(at: "preprocessing[\(index)]") { (translation) throws(Problem) in try translation.apply(step) }
        }
        refuseUnknownLayers()
        if [.leavesRound, .leavesLoop].contains(translate(network.layers)) {
            problems.add(Problem("a loopBreak or loopContinue layer outside a loop", at: "layers"))
        }
        let classifier = addResults()
        if let oversized = graph.oversized { problems.add(oversized) }
        try problems.finish()
        return TranslatedNetwork(
            graph: graph.graph, scalers: scalers, classifier: classifier, hasSequences: !sequences.isEmpty)
    }

    /// Runs `body`, which may read and change `self`; if it throws, records the problem and returns `nil`.
    private mutating func collect<Result>(
        at place: String, _ body: (inout NetworkTranslation) throws(Problem) -> Result
    ) -> Result? {
        do throws(Problem) {
            return try body(&self)
        } catch {
            problems.add(error.inside(place))
            return nil
        }
    }

    // MARK: Inputs

    private func parameter(for feature: FeatureSpecification) throws(Problem) -> Blob {
        switch feature.type {
        case .image(let image):
            guard [image.width, image.height].allSatisfy({ $0 > 0 && $0 <= 1 << 16 }) else {
                throw Problem("unsupported image size of \(image.width) by \(image.height) pixels")
            }
            let shape = image.shape(opens: opensExtents && opensImages)
            var value = graph.parameter(feature.name, type: .f32, shape: shape)
            if let space = innerImages[feature.name], space != image.colorSpace {
                guard space.channels == image.colorSpace.channels else {
                    throw Problem(
                        "expected an image of \(image.colorSpace.channels) channels, but the pipeline has one of \(space.channels)"
                    )
                }
                if space.channels == 3 { value = try graph.gather(value, graph.integers([2, 1, 0]), axis: 1) }
            }
            return Blob(value, isFolded: !network.hasRank4Images)
        case .multiArray(let array):
            var shape = opensExtents || array.shape.isEmpty ? array.extents : array.shape
            let isSequence = sequences.contains(feature.name)
            if isSequence { shape = [nil, 1] + shape }
            guard shape.count <= 8, shape.allSatisfy({ ($0 ?? 1) > 0 && ($0 ?? 1) <= Int(Int32.max) }) else {
                throw Problem("unsupported array of shape \(shapeText(shape))")
            }
            let value = graph.convert(
                graph.parameter(feature.name, type: array.dataType.isInteger ? .i32 : .f32, shape: shape), to: .f32)
            if network.hasExactArrays { return Blob(value) }
            if isSequence { return Blob(try graph.unsqueeze(graph.squeeze(value, [1]), [-2, -1]), isFolded: true) }
            switch shape.count {
            case 1: return Blob(try graph.unsqueeze(value, [0, 2, 3]), isFolded: true)
            case 3: return Blob(try graph.unsqueeze(value, [0]), isFolded: true)
            // The runtime accepts Seq and B as well.
            case 5 where shape[1] == 1: return Blob(try graph.squeeze(value, [1]), isFolded: true)
            default:
                throw Problem(
                    "expected 1 or 3 axes in a network that maps arrays to five axes, found shape \(shapeText(shape))"
                )
            }
        case .int64, .double:
            let value = graph.convert(
                graph.parameter(feature.name, type: feature.type == .int64 ? .i64 : .f32, shape: [1]), to: .f32)
            return network.hasExactArrays ? Blob(value) : Blob(try graph.unsqueeze(value, [0, 2, 3]), isFolded: true)
        case .string, .dictionary, .sequence, .state, .unset:
            throw Problem("expected an image or an array as input of a network, found \(feature.type.name)")
        }
    }

    private mutating func apply(_ preprocessing: NetworkPreprocessing) throws(Problem) {
        let images = description.inputs.filter { if case .image = $0.type { true } else { false } }
        let name = preprocessing.featureName
        guard let feature = name.isEmpty ? images.first : images.first(where: { $0.name == name }),
            case .image(let image) = feature.type
        else { throw Problem(name.isEmpty ? "there is no image input" : "there is no image input \"\(name)\"") }
        switch preprocessing.step {
        case .none: break
        case .scaler(let scaler):
            guard scaledImages.insert(feature.name).inserted else {
                throw Problem("\"\(feature.name)\" is scaled twice")
            }
            guard innerImages[feature.name] != nil else { return scalers[feature.name] = scaler }
            guard let blob = blobs[feature.name] ?? nil else { return }
            let biases = scaler.biases(image.colorSpace)
            let scaled = try graph.scaled(blob.value, by: scaler.channelScale)
            blobs[feature.name] = Blob(
                try graph.add(scaled, graph.floats(biases, shape: [biases.count, 1, 1])), isFolded: blob.isFolded)
        case .meanImage(let mean):
            guard let blob = blobs[feature.name] ?? nil else { return }
            guard blob.value.staticShape != nil else { throw Problem("is for pictures of one size") }
            let shape = [1, image.colorSpace.channels, image.height, image.width]
            let constant = try located("meanImage") { () throws(Problem) in
                try graph.floats(.f32, shape: shape, bytes: mean)
            }
            blobs[feature.name] = Blob(try graph.subtract(blob.value, constant), isFolded: blob.isFolded)
        }
    }

    // MARK: Layers

    /// Reports one problem for each unsupported kind, with the number of its layers.
    private mutating func refuseUnknownLayers() {
        var unknown: [Int: (count: Int, order: Int, place: String)] = [:]
        collect(unknownLayersOf: network.layers, in: "", &unknown)
        for (kind, found) in unknown.sorted(by: { $0.value.order < $1.value.order }) {
            let count = found.count == 1 ? "" : " (\(found.count) layers)"
            problems.add(Problem(LayerTable.refusal(of: kind) + count, at: found.place))
        }
    }

    private func collect(
        unknownLayersOf layers: [NetworkLayer], in scope: String,
        _ unknown: inout [Int: (count: Int, order: Int, place: String)]
    ) {
        for (index, layer) in layers.enumerated() where LayerTable.translators[layer.kind] == nil {
            let place = scope + place(of: layer, index, in: "")
            if ControlLayers.names[layer.kind] == nil {
                let order = unknown.count
                unknown[layer.kind, default: (0, order, place)].count += 1
            }
            // Ignore errors here: translating the layer reports the problems of its networks.
            for (name, network) in (try? ControlLayers.networks(in: layer)) ?? [] {
                collect(unknownLayersOf: network.layers, in: "\(place).\(name).", &unknown)
            }
        }
    }

    mutating func translate(_ layer: NetworkLayer, at place: String) {
        var results: [Blob]?
        if let translator = LayerTable.translators[layer.kind] {
            results =
                collect(at: "\(place) (\(translator.name))") { (translation) throws(Problem) -> [Blob]? in
                    let graph = translation.graph
                    var inputs: [Blob] = []
                    for name in layer.inputs {
                        guard let blob = translation.blobs[name] else {
                            throw Problem("no input or earlier layer produces \"\(name)\"")
                        }
                        // An earlier layer has a problem, which has been collected.
                        guard let blob else { return nil }
                        inputs.append(blob)
                    }
                    graph.place = String(layer.name.prefix(NetworkTranslation.shownName))
                    let results = try translator.translate(
                        Layer(
                            graph: graph, parameters: layer.parameters(), inputs: inputs,
                            outputCount: layer.outputs.count))
                    guard results.count >= layer.outputs.count else {
                        throw Problem("expected \(results.count) outputs, found \(layer.outputs.count)")
                    }
                    for result in results where result.rank > NetworkTranslator.maximumRank {
                        throw Problem(
                            "the result has \(result.rank) axes: the limit is \(NetworkTranslator.maximumRank)")
                    }
                    guard graph.nodeCount <= NetworkTranslator.maximumOperations else {
                        throw Problem("the network needs more than \(NetworkTranslator.maximumOperations) operations")
                    }
                    return results
                } ?? nil
        }
        for (position, name) in layer.outputs.enumerated() {
            blobs[name] = .some(results.flatMap { position < $0.count ? $0[position] : nil })
        }
    }

    func place(of layer: NetworkLayer, _ index: Int, in outer: String? = nil) -> String {
        (outer ?? scope) + "layers[\(index)]"
            + (layer.name.isEmpty ? "" : " \"\(layer.name.prefix(Self.shownName))\"")
    }

    // MARK: Outputs

    private mutating func addResults() -> (labels: ClassLabels, probabilities: String)? {
        graph.place = ""
        var classifier: (labels: ClassLabels, probabilities: String)?
        var ownOutputs: Set<String> = []
        if let labels = network.classLabels {
            ownOutputs = [description.predictedFeatureName, description.predictedProbabilitiesName]
            let name =
                description.predictedProbabilitiesName.isEmpty
                ? description.predictedFeatureName : description.predictedProbabilitiesName
            _ = collect(at: "output \"\(name)\"") { (translation) throws(Problem) in
                try translation.addProbabilities(name, labels)
            }
            classifier = (labels, name)
        }
        for feature in description.outputs where !ownOutputs.contains(feature.name) {
            _ = collect(at: "output \"\(feature.name)\"") { (translation) throws(Problem) in
                guard let blob = translation.blobs[feature.name] ?? translation.lastOutput(for: feature) else {
                    throw Problem("no layer produces it")
                }
                guard let blob else { return }
                translation.graph.result(feature.name, try translation.result(blob, feature))
            }
        }
        return classifier
    }

    /// The output of the last layer, for a regressor without a blob of that name.
    private func lastOutput(for feature: FeatureSpecification) -> Blob?? {
        guard feature.name == description.predictedFeatureName, let name = network.layers.last?.outputs.first else {
            return nil
        }
        return blobs[name]
    }

    private func addProbabilities(_ name: String, _ labels: ClassLabels) throws(Problem) {
        let blobName =
            network.labelProbabilityLayerName.isEmpty
            ? network.layers.last?.outputs.first ?? "" : network.labelProbabilityLayerName
        // Some files name the layer instead of its output.
        let layerOutput = network.layers.last { $0.name == blobName }?.outputs.first
        guard let blob = blobs[blobName] ?? layerOutput.flatMap({ blobs[$0] }) else {
            throw Problem("no layer produces \"\(blobName)\", the output of the probabilities")
        }
        guard let blob else { return }
        guard sequences.isEmpty || blob.value.staticShape != nil else {
            throw Problem("each step of a sequence has its own probabilities")
        }
        if let shape = blob.value.staticShape, let count = elementCount(shape), count != labels.count {
            throw Problem("there are \(labels.count) class labels for \(count) probabilities")
        }
        graph.result(name, try graph.reshape(blob.value, to: [-1]))
    }

    private func result(_ blob: Blob, _ feature: FeatureSpecification) throws(Problem) -> Graph.Value {
        let layer = Layer(graph: graph, parameters: .empty, inputs: [blob], outputCount: 1)
        switch feature.type {
        case .image(let image):
            let value = try layer.spatial().value
            if let channels = value.shape[1], channels != image.colorSpace.channels {
                throw Problem(
                    "an image of \(image.colorSpace.channels) channels is declared, but the network produces \(channels)"
                )
            }
            if image.colorSpace == .grayscaleFloat16 { return value }
            return graph.rounded(try graph.clamp(value, from: 0, to: 255))
        case .multiArray(let array):
            return graph.convert(
                try shaped(blob, layer, declared: array.shape), to: array.dataType.isInteger ? .i32 : .f32)
        case .int64: return graph.convert(try graph.reshape(blob.value, to: [-1]), to: .i64)
        case .double: return try graph.reshape(blob.value, to: [-1])
        case .string, .dictionary, .sequence, .state, .unset:
            return try shaped(blob, layer, declared: [])
        }
    }

    /// The blob in the declared shape if that has the same number of elements. Five axes lose the first two and those
    /// after the channels where their extents are 1.
    private func shaped(_ blob: Blob, _ layer: Layer, declared: [Int]) throws(Problem) -> Graph.Value {
        let shape = blob.shape
        if !declared.isEmpty, let known = blob.value.staticShape, declared.allSatisfy({ $0 > 0 }),
            let count = elementCount(known), elementCount(declared) == count
        {
            return try graph.reshape(blob.value, to: declared)
        }
        let value = try layer.unfolded(blob)
        guard shape.count == 5, !network.hasExactArrays else { return value }
        var axes = Array((0..<2).prefix { shape[$0] == 1 })
        axes += (3..<5).reversed().prefix { shape[$0] == 1 }
        return try graph.squeeze(value, axes)
    }
}
