internal import FileFormats

/// A Core ML file of the part before the updatable one: all but the last model of a pipeline, and the layers of a
/// network before the first trained one. It has the inputs of the whole file.
struct FeatureModel {
    /// The whole file, and its updatable model. They differ only for pipelines.
    let outer: Bytes, last: Bytes
    let specification: ModelSpecification
    /// The bytes of all but the last model of a pipeline.
    let prefix: [[UInt8]]
    /// The name of the output.
    let name: String

    init(outer: Bytes, last: Bytes, prefix: [[UInt8]]) throws(Problem) {
        (self.outer, self.last, self.prefix) = (outer, last, prefix)
        specification = try ModelSpecification(last)
        let description = try ModelSpecification(outer).description
        var names = Set((description.inputs + description.outputs + specification.description.inputs).map(\.name))
        if [.neuralNetwork, .neuralNetworkClassifier, .neuralNetworkRegressor].contains(specification.type) {
            for layer in try NeuralNetwork(specification.reader).layers {
                names.formUnion(layer.inputs + layer.outputs)
            }
        }
        var name = "features"
        while names.contains(name) { name += "_" }
        self.name = name
    }

    func bytes(_ updatable: UpdatableModel.Updatable) throws(Problem) -> [UInt8] {
        let type: ModelType, body: [UInt8], output: [UInt8]
        switch updatable {
        case .network(let network):
            type = .neuralNetwork
            body = try layers(before: network)
            output = feature(.float32, shape: [])
        case .neighbors(let neighbors):
            type = .featureVectorizer
            body = try vectorizer(dimension: neighbors.dimension)
            output = feature(.double, shape: [neighbors.dimension])
        }
        guard !prefix.isEmpty else { return try model(inputsOf: outer, output, type, body) }
        let models = (prefix + [try model(inputsOf: last, output, type, body)]).flatMap { ProtobufWriter.field(1, $0) }
        return try model(inputsOf: outer, output, .pipeline, models)
    }

    /// The layers, preprocessing and mappings of the network unchanged, and a layer that produces the output.
    private func layers(before network: UpdatableNetwork) throws(Problem) -> [UInt8] {
        let edit = try MessageEdit(specification.body)
        let linear = ProtobufWriter.field(1, float: 1)
        let layer =
            ProtobufWriter.field(1, name) + ProtobufWriter.field(2, network.featureBlob) + ProtobufWriter.field(3, name)
            + ProtobufWriter.field(TrainableLayerDefinition.Kind.activation, ProtobufWriter.field(5, linear))
        return edit.raw([1], maximum: network.firstLayer) + ProtobufWriter.field(1, layer) + edit.raw([2, 5, 6])
    }

    /// A model that concatenates all inputs.
    private func vectorizer(dimension: Int) throws(Problem) -> [UInt8] {
        let inputs = specification.description.inputs
        var columns: [UInt8] = []
        for input in inputs {
            guard let count = input.type.numberCount ?? (inputs.count == 1 ? dimension : nil) else {
                throw Problem("input \"\(input.name.prefix(100))\" has an open number of values")
            }
            columns += ProtobufWriter.field(
                1, ProtobufWriter.field(1, input.name) + ProtobufWriter.field(2, integer: count))
        }
        return columns
    }

    private func feature(_ type: ArrayFeature.DataType, shape: [Int]) -> [UInt8] {
        let array =
            (shape.isEmpty ? [] : ProtobufWriter.field(1, integers: shape))
            + ProtobufWriter.field(2, integer: type.rawValue)
        return ProtobufWriter.field(1, name) + ProtobufWriter.field(3, ProtobufWriter.field(5, array))
    }

    private func model(inputsOf source: Bytes, _ output: [UInt8], _ type: ModelType, _ body: [UInt8]) throws(Problem)
        -> [UInt8]
    {
        let description = try MessageEdit(source).content(2) ?? .empty
        let inputs = try MessageEdit(description).raw([1])
        let version = try ModelSpecification(outer).version
        return ProtobufWriter.field(1, integer: version)
            + ProtobufWriter.field(2, inputs + ProtobufWriter.field(10, output))
            + ProtobufWriter.field(type.rawValue, body)
    }
}
