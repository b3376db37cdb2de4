/// Loops, conditions and classifiers.
///
/// The number of iterations must be known when the file is read, as in recurrent layers of a fixed length. The engine
/// repeats a loop whose iterations differ only in their values (`ProgramLoops.swift`); other loops are unrolled.
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
    ]

    /// The maximum number of rounds of an unrolled loop.
    private static let maximumRounds = 4096

    private static func whileLoop(_ call: ProgramCall) throws(Problem) -> [ProgramOperand] {
        let blocks = call.operation.blocks
        var variables = try call.operands("loop_vars")
        guard blocks.count == 2, blocks.allSatisfy({ $0.inputs.count == variables.count }),
            blocks[0].outputs.count == 1, blocks[1].outputs.count == variables.count
        else { throw Problem("the blocks of the loop do not have its \(variables.count) variables") }
        if let results = try repeatedLoop(call, variables) { return results }
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

    /// The outputs of a block for its inputs.
    static func results(
        of block: MILBlock, _ inputs: [ProgramOperand], _ program: ProgramContext,
        constants: inout [Int: [ProgramOperand]]
    ) throws(Problem) -> [ProgramOperand] {
        // A closure cannot capture an inout parameter.
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

    /// One block if the condition is known; otherwise both, and their elements are selected at run time.
    private static func condition(_ call: ProgramCall) throws(Problem) -> [ProgramOperand] {
        let blocks = call.operation.blocks
        guard blocks.count == 2, let predicate = try call.operands("pred").first else {
            throw Problem("expected two blocks of a condition, found \(blocks.count)")
        }
        var constants: [[Int: [ProgramOperand]]] = [[:], [:]]
        let graph = call.graph
        let given = try call.program.value(of: predicate)
        if let decided = graph.decision(given, { $0 != 0 }) {
            let chosen = decided ? 0 : 1
            return try results(of: blocks[chosen], [], call.program, constants: &constants[chosen])
        }
        let holds = try graph.scalar(of: graph.truth(given))
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
