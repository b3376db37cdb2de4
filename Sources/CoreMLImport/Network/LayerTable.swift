/// How one kind of layer is translated. `kind` and `name` are those of NeuralNetworkLayer's `oneof layer`.
struct LayerTranslator: Sendable {
    let kind: Int
    let name: String
    let translate: @Sendable (Layer) throws(Problem) -> [Blob]

    init(_ kind: Int, _ name: String, _ translate: @escaping @Sendable (Layer) throws(Problem) -> [Blob]) {
        self.kind = kind
        self.name = name
        self.translate = translate
    }
}

/// The kinds of layers that are known.
enum LayerTable {
    static let translators: [Int: LayerTranslator] = {
        let families = [
            ConvolutionLayers.table, PoolingLayers.table, ActivationLayers.table, ProductLayers.table,
            NormalizationLayers.table, ElementwiseLayers.table, UnaryLayers.table, ComparisonLayers.table,
            ReductionLayers.table, ShapeLayers.table, RearrangementLayers.table, SliceLayers.table, ResizeLayers.table,
            ConstantLayers.table, SelectionLayers.table, ScatterLayers.table, RecurrentLayers.table, LSTMLayers.table,
        ]
        return Dictionary(families.joined().map { ($0.kind, $0) }, uniquingKeysWith: { first, _ in first })
    }()

    /// Why a layer of a kind that is not translated is refused.
    static func refusal(of kind: Int) -> String {
        switch kind {
        case 0: "the layer has no type"
        case 500: "custom layers run code of the app that they were made for; export the network with layers of its own"
        case 605, 615, 620, 625: "branches and loops are not translated; export the network without control flow"
        case 1170...1230: "random layers are not translated: a prediction would not be the same twice"
        case 1313: "whereNonZero is not translated: the size of what it gives depends on the values"
        case 1400:
            "nonMaximumSuppression is not translated within a network; export the detector as a pipeline that ends with it"
        default: "layers of type \(unsupported[kind] ?? String(kind)) are not translated"
        }
    }

    /// Kinds that have a name and no translation.
    private static let unsupported = [212: "cropResize"]

    static func name(of kind: Int) -> String {
        translators[kind]?.name ?? unsupported[kind] ?? (kind == 500 ? "custom" : "type \(kind)")
    }
}
