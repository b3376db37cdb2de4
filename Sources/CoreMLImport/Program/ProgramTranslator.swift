/// An ML Program as a graph.
package struct TranslatedProgram: Sendable {
    package var graph: Graph
    /// For a classifier: the labels, and the name of the result with their probabilities.
    package var classifier: (labels: ClassLabels, probabilities: String)?
}

/// Translates the function of an ML Program that the description refers to.
///
/// Parameters of the graph have the names of the inputs in the description, results those of the outputs. 16-bit floats
/// are computed as 32-bit ones, all integers as i32.
package struct ProgramTranslator {
    /// The shapes from the description, by input, for extents that the program leaves open.
    private let inputShapes: [String: [Int?]]
    private let defaultFunction: String
    private let files: WeightFiles

    /// - Parameter opensExtents: true to leave extents open that requests may choose; false for the default shapes.
    /// - Parameter opensImages: true to leave the sides of pictures open, too.
    package init(
        _ description: InterfaceSpecification, files: WeightFiles, opensExtents: Bool = false, opensImages: Bool = false
    ) {
        self.files = files
        defaultFunction = description.defaultFunctionName.isEmpty ? "main" : description.defaultFunctionName
        let inputs =
            description.functions.first { $0.name == description.defaultFunctionName }?.inputs ?? description.inputs
        var shapes: [String: [Int?]] = [:]
        for input in inputs {
            switch input.type {
            case .multiArray(let array):
                // A flexible input has its default shape, if the description has one.
                shapes[input.name] = opensExtents || array.shape.isEmpty ? array.extents : array.shape
            case .image(let image): shapes[input.name] = image.shape(opens: opensExtents && opensImages)
            default: break
            }
        }
        inputShapes = shapes
    }

    /// - Parameter message: the model's message, of type `mlProgram`.
    package func translate(_ message: MessageReader) throws(ImportError) -> TranslatedProgram {
        var problems = ProblemCollector()
        let program = problems.collect(at: "mlProgram") { () throws(Problem) in try MILProgram(message) }
        try problems.finish()
        guard let program else { throw ImportError([]) }
        guard let function = program.functions[defaultFunction] else {
            let names = program.functions.keys.sorted().map { "\"\($0)\"" }.joined(separator: ", ")
            throw ImportError([
                Problem("there is no function \"\(defaultFunction)\"; the program has \(names)", at: "mlProgram")
            ])
        }
        return try translate(function, size: message.bytes.count)
    }

    private func translate(_ function: MILFunction, size: Int) throws(ImportError) -> TranslatedProgram {
        try refuseUnknown(function)
        var problems = ProblemCollector()
        let context = ProgramContext(files: files, programSize: size)
        for input in function.inputs {
            problems.collect(at: "inputs \"\(input.name)\"") { () throws(Problem) in try add(input, to: context) }
        }
        problems.collect(at: "") { () throws(Problem) in try context.translate(function.block) }
        context.builder.place = ""
        try problems.finish()
        var translated = TranslatedProgram(graph: context.builder.graph)
        let classifier = context.classifier
        if let classifier {
            let name = probabilitiesName(function)
            context.builder.result(name, classifier.probabilities)
            translated.classifier = (classifier.labels, name)
        }
        let labelOutputs = classifier?.outputs ?? []
        for output in function.block.outputs where !labelOutputs.contains(output) {
            problems.collect(at: "outputs \"\(output)\"") { () throws(Problem) in
                context.builder.result(output, try context.value(of: context.operand(named: output)))
            }
        }
        if let oversized = context.builder.oversized { problems.add(oversized) }
        try problems.finish()
        translated.graph = context.builder.graph.pruned()
        return translated
    }

    /// Adds an input as a parameter of the graph.
    private func add(_ input: MILNamedType, to context: ProgramContext) throws(Problem) {
        if case .state = input.type {
            throw Problem(
                "state that lasts from one prediction to the next is not supported; export the model without it")
        }
        guard let type = input.type.tensor else { throw Problem("only tensors can be inputs") }
        guard let element = Self.elementType(type.element) else {
            throw Problem("tensors of \(type.element) cannot be inputs")
        }
        let known = inputShapes[input.name]
        var shape = known ?? []
        if let declared = type.shape {
            shape = declared
            if let known, known.count == declared.count { shape = zip(declared, known).map { $0 ?? $1 } }
        } else if known == nil {
            throw Problem("neither the program nor the description specifies its rank")
        }
        try context.define(input.name, .value(context.builder.parameter(input.name, type: element, shape: shape)))
    }

    static func elementType(_ type: MILDataType) -> Graph.ElementType? {
        switch type {
        case .bool: .boolean
        case .string: nil
        case .float16, .float32, .float64, .bfloat16: .f32
        default: .i32
        }
    }

    /// A name for the probabilities that no input or output has. The outputs derived from them have other names.
    private func probabilitiesName(_ function: MILFunction) -> String {
        var name = "probabilities"
        while function.block.outputs.contains(name) || function.inputs.contains(where: { $0.name == name }) {
            name += "_"
        }
        return name
    }

    /// Reports all unsupported operations, each with its count and the location of the first.
    private func refuseUnknown(_ function: MILFunction) throws(ImportError) {
        var found: [(type: String, count: Int, place: String)] = []
        count(function.block, at: "", into: &found)
        let problems = found.map { type, count, place in
            let times = count == 1 ? "occurs once" : "occurs \(count) times"
            return Problem("operation \"\(type)\" (\(times)): \(ProgramOperations.refusal(of: type))", at: place)
        }
        guard problems.isEmpty else { throw ImportError(problems) }
    }

    private func count(
        _ block: MILBlock, at place: String, into found: inout [(type: String, count: Int, place: String)]
    ) {
        for (index, operation) in block.operations.enumerated() {
            let here = place + "operations[\(index)] \"\(operation.outputs.first?.name ?? "")\""
            for inner in operation.blocks { count(inner, at: here + ".", into: &found) }
            guard !ProgramOperations.isKnown(operation.type) else { continue }
            if let known = found.firstIndex(where: { $0.type == operation.type }) {
                found[known].count += 1
            } else if found.count < 100 {
                found.append((operation.type, 1, here))
            }
        }
    }
}
