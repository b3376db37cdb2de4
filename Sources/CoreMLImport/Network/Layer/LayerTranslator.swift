/// The translation of one kind of layer. `kind` and `name` are from the `oneof layer` of NeuralNetworkLayer.
struct LayerTranslator: Sendable {
    let kind: Int
    let name: String
    let translate: @Sendable (Layer) throws(Problem) -> [Blob]

    init(_ kind: Int, _ name: String, _ translate: @escaping @Sendable (Layer) throws(Problem) -> [Blob]) {
        self.kind = kind
        self.name = name
        self.translate = translate
    }

    /// The translator, applied to channels (`Layer.onChannels`).
    var onChannels: LayerTranslator {
        LayerTranslator(kind, name) { (layer) throws(Problem) in try layer.onChannels(translate) }
    }

    /// Translates an input to the layer's only output.
    typealias Single = @Sendable (Layer, Graph.Value) throws(Problem) -> Graph.Value

    /// A layer with one input and an output with the same axes.
    static func ofElements(_ kind: Int, _ name: String, _ translate: @escaping Single) -> LayerTranslator {
        LayerTranslator(kind, name) { (layer) throws(Problem) in
            try layer.expectInputs(1...1)
            let blob = try layer.input()
            return [Blob(try translate(layer, blob.value), isFolded: blob.isFolded)]
        }
    }

    /// A layer that reads its first input with all axes.
    static func ofArrays(
        _ kind: Int, _ name: String, inputs: ClosedRange<Int> = 1...1, _ translate: @escaping Single
    ) -> LayerTranslator {
        LayerTranslator(kind, name) { (layer) throws(Problem) in
            try layer.expectInputs(inputs)
            let result = try translate(layer, layer.array())
            // A blob has at least one axis.
            return [Blob(result.rank == 0 ? try layer.graph.unsqueeze(result, [0]) : result)]
        }
    }

    /// A layer that reads its first input as images [N, C, H, W].
    static func ofImages(
        _ kind: Int, _ name: String, inputs: ClosedRange<Int> = 1...1, _ translate: @escaping Single
    ) -> LayerTranslator {
        LayerTranslator(kind, name) { (layer) throws(Problem) in
            try layer.expectInputs(inputs)
            let (value, back) = try layer.spatial()
            return [try back(translate(layer, value))]
        }
    }

    /// A layer with the same axes in all inputs and in the output.
    static func ofAlike(
        _ kind: Int, _ name: String, inputs: ClosedRange<Int>,
        _ translate: @escaping @Sendable (Layer, [Graph.Value]) throws(Problem) -> Graph.Value
    ) -> LayerTranslator {
        LayerTranslator(kind, name) { (layer) throws(Problem) in
            try layer.expectInputs(inputs)
            let (values, isFolded) = try layer.alike()
            return [Blob(try translate(layer, values), isFolded: isFolded)]
        }
    }
}
