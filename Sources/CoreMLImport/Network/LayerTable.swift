/// The translation of one kind of layer. `kind` and `name` are those of NeuralNetworkLayer's `oneof layer`.
struct LayerTranslator: Sendable {
    let kind: Int
    let name: String
    let translate: @Sendable (Layer) throws(Problem) -> [Blob]

    init(_ kind: Int, _ name: String, _ translate: @escaping @Sendable (Layer) throws(Problem) -> [Blob]) {
        self.kind = kind
        self.name = name
        self.translate = translate
    }

    /// A layer that acts on channels (`Layer.onChannels`).
    static func onChannels(
        _ kind: Int, _ name: String, _ translate: @escaping @Sendable (Layer) throws(Problem) -> [Blob]
    ) -> LayerTranslator {
        LayerTranslator(kind, name) { (layer) throws(Problem) in try layer.onChannels(translate) }
    }

    /// A layer of one input, whose output has the axes of the input.
    static func ofElements(
        _ kind: Int, _ name: String,
        _ translate: @escaping @Sendable (Layer, Graph.Value) throws(Problem) -> Graph.Value
    ) -> LayerTranslator {
        LayerTranslator(kind, name) { (layer) throws(Problem) in
            try layer.expectInputs(1...1)
            let blob = try layer.input()
            return [Blob(try translate(layer, blob.value), isFolded: blob.isFolded)]
        }
    }
}

/// The kinds of layers that are known.
enum LayerTable {
    static let translators: [Int: LayerTranslator] = {
        let families = [
            ConvolutionLayers.table, PoolingLayers.table, ActivationLayers.table, ProductLayers.table,
            NormalizationLayers.table, ElementwiseLayers.table, UnaryLayers.table, ComparisonLayers.table,
            ReductionLayers.table, ShapeLayers.table, RearrangementLayers.table, SliceLayers.table, ResizeLayers.table,
            ConstantLayers.table, SelectionLayers.table, ScatterLayers.table, BoxLayers.table, RecurrentLayers.table,
        ]
        return Dictionary(families.joined().map { ($0.kind, $0) }, uniquingKeysWith: { first, _ in first })
    }()

    /// Why a layer of a kind that is not translated is refused.
    static func refusal(of kind: Int) -> String {
        switch kind {
        case 0: "the layer has no type"
        case 500: "custom layers need code of an app; export the network without them"
        case 1170...1230: "random layers are not supported: predictions would not be reproducible"
        default: "layers of type \(kind) are not supported"
        }
    }
}
