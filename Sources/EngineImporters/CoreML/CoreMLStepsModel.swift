internal import CoreMLImport
internal import EngineAPI
internal import FlowControl
internal import FoundationEssentials

/// A Core ML file of several steps, ready to run.
struct CoreMLStepsModel: CompiledModel {
    let target: any ImportTarget
    let steps: ModelSteps
    let graphs: [GraphModel]
    let description: InterfaceSpecification
    let inputs: [TensorPort]
    let outputs: [TensorPort]
    let classifier: (labels: ClassLabelList, output: String)?

    /// A compiled network or program of the file.
    struct GraphModel: Sendable {
        let facts: CoreMLFacts
        let compiled: any CompiledModel
    }

    var optimalRequestCount: Int {
        graphs.map(\.compiled.optimalRequestCount).min() ?? max(1, ProcessInfo.processInfo.activeProcessorCount)
    }

    /// False without a network, because nothing is compiled or cached then.
    var loadedFromCache: Bool { !graphs.isEmpty && graphs.allSatisfy(\.compiled.loadedFromCache) }
    var executionDevices: String { graphs.first?.compiled.executionDevices ?? "CPU" }
    var execution: ExecutionProperties {
        if let graph = graphs.first { return graph.compiled.execution }
        var properties = ExecutionProperties()
        properties.precision = "f64"
        return properties
    }

    var shapeMemory: Int { graphs.reduce(0) { $0 + $1.compiled.shapeMemory } }

    func makeRequest() throws(EngineError) -> any InferRequest {
        var requests: [any InferRequest] = []
        for graph in graphs { requests.append(try graph.compiled.makeRequest()) }
        return CoreMLStepsRequest(self, graphs: requests)
    }

    func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor {
        if elementType == .string { return FeatureTensor() }
        return try target.makeTensor(elementType: elementType, shape: shape)
    }
}
