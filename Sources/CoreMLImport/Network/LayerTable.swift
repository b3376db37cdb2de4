/// The supported kinds of layers.
enum LayerTable {
    static let translators: [Int: LayerTranslator] = {
        let families = [
            ConvolutionLayers.table, PoolingLayers.table, ActivationLayers.table, ProductLayers.table,
            NormalizationLayers.table, ElementwiseLayers.table, UnaryLayers.table, ComparisonLayers.table,
            ReductionLayers.table, ShapeLayers.table, RearrangementLayers.table, SliceLayers.table, ResizeLayers.table,
            ConstantLayers.table, SelectionLayers.table, BoxLayers.table, RecurrentLayers.table,
        ]
        return Dictionary(families.joined().map { ($0.kind, $0) }, uniquingKeysWith: { first, _ in first })
    }()

    /// The error text for an unsupported kind of layer.
    static func refusal(of kind: Int) -> String {
        switch kind {
        case 0: "the layer has no type"
        case 500: "custom layers need code of an app; export the network without them"
        case 1170...1230: "random layers are not supported: predictions would not be reproducible"
        default: "layers of type \(kind) are not supported"
        }
    }
}
