internal import CoreMLImport
internal import EngineAPI
internal import Glibc

/// A Core ML file that is evaluated step by step: classical models by this process, in double precision, and its
/// networks and programs by the engine.
struct CoreMLStepsFile: CoreMLModelFile {
    let facts: CoreMLFacts
    let inputs: [TensorPort]
    let outputs: [TensorPort]
    private let target: any ImportTarget
    private let steps: ModelSteps
    private let graphs: [CoreMLGraphFile]

    init(
        _ steps: ModelSteps, graphs: [CoreMLGraphFile], description: InterfaceSpecification, target: any ImportTarget
    ) throws(ImportError) {
        self.target = target
        self.steps = steps
        self.graphs = graphs
        var description = description
        for (index, input) in description.inputs.enumerated() where steps.hasDefault(input.name) {
            description.inputs[index].isOptional = true
        }
        var problems: [Problem] = []
        func ports(_ features: [FeatureSpecification], _ what: String) -> [TensorPort] {
            features.enumerated().compactMap { index, feature in
                do throws(Problem) {
                    return try TensorPort(feature)
                } catch {
                    problems.append(error.inside("\(what)[\(index)] \"\(feature.name)\""))
                    return nil
                }
            }
        }
        inputs = ports(description.inputs, "description.input")
        var outputs = ports(description.outputs, "description.output")
        guard problems.isEmpty else { throw ImportError(problems) }
        // The probabilities belong to the last classifier.
        let labels = steps.steps.reversed().lazy.compactMap { step -> [CoreMLImport.Category]? in
            switch step {
            case .evaluate(let model): model.labels
            case .run(let index): graphs[index].facts.classifier?.labels.categories
            case .enter, .leave: nil
            }
        }.first
        var facts = CoreMLFacts(description: description)
        facts.isEvaluated = true
        facts.defaults = steps.defaults
        facts.detections = steps.detections.map { ($0.scores, $0.boxes, $0.classes.map(\.description)) }
        for input in description.inputs {
            facts.samples[input.name] = steps.sample(of: input)
            if steps.takesMissing(input.name) { facts.missing.insert(input.name) }
        }
        for graph in graphs { facts.scalers.merge(graph.facts.scalers) { first, _ in first } }
        if let labels, let index = outputs.firstIndex(where: { $0.name == description.predictedProbabilitiesName }) {
            outputs[index] = TensorPort(name: outputs[index].name, elementType: .float64, shape: [labels.count])
            facts.classifier = (ClassLabelList(labels), outputs[index].name)
        }
        // The number of boxes varies, which the file often does not state.
        if let detections = facts.detections {
            for (name, width) in [(detections.boxes, 4), (detections.scores, Shape.dynamic)] {
                guard let index = outputs.firstIndex(where: { $0.name == name }),
                    outputs[index].shape.dimensions.count != 2
                else { continue }
                outputs[index] = TensorPort(
                    name: name, elementType: outputs[index].elementType, shape: [Shape.dynamic, width])
            }
        }
        self.outputs = outputs
        self.facts = facts
    }

    func inputIndex(named name: String) -> Int? { inputs.firstIndex { $0.name == name } }
    func outputIndex(named name: String) -> Int? { outputs.firstIndex { $0.name == name } }

    func compile(_ options: CompileOptions) throws(EngineError) -> any CompiledModel {
        var graphOptions = options
        graphOptions.inputShapes = [:]
        var compiled: [any CompiledModel] = []
        for graph in graphs { compiled.append(try graph.compile(graphOptions)) }
        return CoreMLStepsModel(
            target: target, steps: steps,
            graphs: zip(graphs, compiled).map { CoreMLStepsModel.GraphModel(facts: $0.facts, compiled: $1) },
            description: facts.description, inputs: inputs, outputs: outputs, classifier: facts.classifier)
    }
}

extension TensorPort {
    /// The port of a feature that this process evaluates: one number, an array, a picture as [1, channels, height,
    /// width], or no tensor (strings).
    init(_ feature: FeatureSpecification) throws(Problem) {
        switch feature.type {
        case .double: self.init(name: feature.name, elementType: .float64, shape: [1])
        case .int64: self.init(name: feature.name, elementType: .int64, shape: [1])
        case .string, .dictionary: self.init(name: feature.name, elementType: .string, shape: [1])
        case .multiArray(let array):
            let type: ElementType =
                switch array.dataType {
                case .double, .invalid: .float64
                case .float32: .float32
                case .float16: .float16
                case .int32: .int32
                case .int8: .int8
                }
            guard array.extents.count <= 8, array.extents.allSatisfy({ ($0 ?? 1) > 0 && ($0 ?? 1) <= Int(Int32.max) })
            else {
                throw Problem("has the shape \(array.extents.map { $0.map(String.init) ?? "?" })")
            }
            self.init(
                name: feature.name, elementType: type, shape: Shape(array.extents.map { $0 ?? Shape.dynamic }))
        case .image(let image):
            guard (1...1 << 16).contains(image.width), (1...1 << 16).contains(image.height) else {
                throw Problem("is a picture of \(image.width) by \(image.height) pixels")
            }
            self.init(
                name: feature.name, elementType: .float32,
                shape: [1, image.colorSpace.channels, image.height, image.width])
        case .sequence, .state, .unset: throw Problem("features of type \(feature.type.name) are not supported")
        }
    }
}
