/// Loops, conditions, lists and classifiers.
///
/// A graph has no loops: the rounds of one are written out, one after the other. How many there are must be known when the
/// file is read, which is so in recurrent layers of a fixed length.
extension ProgramOperations {
    static let control: [String: Decoder] = [
        "while_loop": whileLoop,
        "cond": condition,
        "classify": { call throws(Problem) in
            let labels: ClassLabels
            switch try call.operands("classes").first {
            case .strings(let strings): labels = .strings(strings)
            case .integers(let integers): labels = .integers(integers)
            case .constant(let constant): labels = .integers(try constant.tensor.integers())
            default: throw Problem("must be a list of strings or of integers", at: "classes")
            }
            call.program.classifier = (try call.float("probabilities"), labels, call.operation.outputs.map(\.name))
            return call.operation.outputs.map { _ in .strings([]) }
        },
        "make_list": { call throws(Problem) in
            let length = try call.integer("init_length", default: 1)
            var shape: [Int]? = []
            for operand in try call.operands("elem_shape") {
                if let extents = try operand.tensor?.integers() { shape? += extents } else { shape = nil }
            }
            return [
                .tensors(
                    try TensorList(
                        length: length, shape: shape, isFloat: call.text("dtype", default: "fp32").hasPrefix("fp")))
            ]
        },
        "list_length": { call throws(Problem) in
            [
                .constant(
                    ProgramConstant(
                        try BlobTensor(
                            .int32, shape: [], bytes: Bytes(of: [Int32(clamping: list(call).elements.count)]))))
            ]
        },
        "list_read": { call throws(Problem) in
            try list(call).read(call.integer("index"), call.program)
        },
        "list_write": { call throws(Problem) in
            var list = try list(call)
            try list.write(call.operands("value").first ?? .strings([]), at: call.integer("index"))
            return [.tensors(list)]
        },
        "list_gather": { call throws(Problem) in
            let (list, graph) = (try list(call), call.graph)
            var layers: [Graph.Value] = []
            for index in try call.requiredIntegers("indices") {
                for operand in try list.read(index, call.program) {
                    layers.append(try graph.unsqueeze(call.program.value(of: operand), [0]))
                }
            }
            return [.value(try graph.concat(layers, axis: 0))]
        },
        "list_scatter": { call throws(Problem) in
            var list = try list(call)
            let (value, graph) = (try call.value("value"), call.graph)
            for (place, index) in try call.requiredIntegers("indices").enumerated() {
                let layer = try graph.gather(value, graph.scalar(place), axis: 0)
                try list.write(.value(layer), at: index)
            }
            return [.tensors(list)]
        },
    ]

    private static func list(_ call: ProgramCall) throws(Problem) -> TensorList {
        guard case .tensors(let list) = try call.operands("ls").first else { throw Problem("must be a list", at: "ls") }
        return list
    }

    /// A loop runs as often at most.
    private static let maximumRounds = 4096

    private static func whileLoop(_ call: ProgramCall) throws(Problem) -> [ProgramOperand] {
        let blocks = call.operation.blocks
        var variables = try call.operands("loop_vars")
        guard blocks.count == 2, blocks.allSatisfy({ $0.inputs.count == variables.count }),
            blocks[0].outputs.count == 1, blocks[1].outputs.count == variables.count
        else { throw Problem("the blocks of the loop do not have its \(variables.count) variables") }
        var constants: [[Int: [ProgramOperand]]] = [[:], [:]]
        for _ in 0..<maximumRounds {
            try call.program.count(1)
            let goesOn = try results(of: blocks[0], variables, call.program, constants: &constants[0])[0]
            guard let known = try goesOn.tensor?.integers().first else {
                throw Problem(
                    "the number of iterations is known only at run time: export the model with a fixed length of its "
                        + "sequences, or without the loop")
            }
            if known == 0 { return variables }
            variables = try results(of: blocks[1], variables, call.program, constants: &constants[1])
        }
        throw Problem("the loop runs more than \(maximumRounds) times")
    }

    /// What a block gives for its inputs.
    private static func results(
        of block: MILBlock, _ inputs: [ProgramOperand], _ program: ProgramContext,
        constants: inout [Int: [ProgramOperand]]
    ) throws(Problem) -> [ProgramOperand] {
        // The closure cannot hold what is passed inout.
        var decoded = constants
        let results = try program.inScope { () throws(Problem) in
            for (name, operand) in zip(block.inputs, inputs) { try program.define(name, operand) }
            try program.translate(block, constants: &decoded)
            var results: [ProgramOperand] = []
            for name in block.outputs { results.append(try program.operand(named: name)) }
            return results
        }
        constants = decoded
        return results
    }

    /// One of two blocks where it is known which; else both, and the elements of one of them.
    private static func condition(_ call: ProgramCall) throws(Problem) -> [ProgramOperand] {
        let blocks = call.operation.blocks
        guard blocks.count == 2, let predicate = try call.operands("pred").first else {
            throw Problem("expected two blocks of a condition, found \(blocks.count)")
        }
        var constants: [[Int: [ProgramOperand]]] = [[:], [:]]
        if let known = try predicate.tensor?.integers().first {
            let chosen = known != 0 ? 0 : 1
            return try results(of: blocks[chosen], [], call.program, constants: &constants[chosen])
        }
        let graph = call.graph
        let holds = try scalar(graph, truth(graph, call.program.value(of: predicate)))
        let yes = try results(of: blocks[0], [], call.program, constants: &constants[0])
        let no = try results(of: blocks[1], [], call.program, constants: &constants[1])
        guard yes.count == no.count else {
            throw Problem("the blocks of the condition produce \(yes.count) and \(no.count) values")
        }
        var chosen: [ProgramOperand] = []
        for (one, other) in zip(yes, no) {
            let (first, second) = unified(graph, try call.program.value(of: one), try call.program.value(of: other))
            guard first.shape == second.shape else {
                throw Problem(
                    "the blocks of the condition produce the shapes \(shapeText(first.shape)) and \(shapeText(second.shape))"
                )
            }
            chosen.append(.value(try graph.select(holds, first, second)))
        }
        return chosen
    }
}

/// A list of tensors: what loops read a sequence from, and write their results to.
struct TensorList {
    private(set) var elements: [ProgramOperand?]
    /// The shape of an element, where the file says it: those that were never written are zeros.
    private let shape: [Int]?
    private let isFloat: Bool

    private static let maximumLength = 1 << 16

    init(length: Int, shape: [Int]?, isFloat: Bool) throws(Problem) {
        guard length >= 0, length <= Self.maximumLength else { throw Problem("unsupported list of \(length) elements") }
        elements = [ProgramOperand?](repeating: nil, count: length)
        self.shape = shape
        self.isFloat = isFloat
    }

    func read(_ index: Int, _ program: ProgramContext) throws(Problem) -> [ProgramOperand] {
        guard elements.indices.contains(index) else {
            throw Problem("index \(index) is out of range: the list has \(elements.count) elements")
        }
        if let element = elements[index] { return [element] }
        guard let shape, let count = elementCount(shape), count <= 1 << 24 else {
            throw Problem("element \(index) of the list was never written")
        }
        let type: MILDataType = isFloat ? .float32 : .int32
        try program.spend(count * 4)
        return [.constant(ProgramConstant(try BlobTensor(type, shape: shape, bytes: Bytes(count: count * 4) { _ in })))]
    }

    /// Lists grow as they are written.
    mutating func write(_ element: ProgramOperand, at index: Int) throws(Problem) {
        guard index >= 0, index < Self.maximumLength else {
            throw Problem("index \(index) is out of range", at: "index")
        }
        while elements.count <= index { elements.append(nil) }
        elements[index] = element
    }
}
