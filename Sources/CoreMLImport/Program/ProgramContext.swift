/// The value of a name in a program.
enum ProgramOperand {
    /// A value that the graph computes.
    case value(Graph.Value)
    /// A constant, which becomes part of the graph where an operation computes with it.
    case constant(ProgramConstant)
    case strings([String])
    case integers([Int])
    /// A list of tensors that a loop reads or writes.
    case tensors(TensorList)

    var tensor: BlobTensor? {
        if case .constant(let constant) = self { constant.tensor } else { nil }
    }
}

/// A constant, and what it is in the graph once an operation has computed with it.
final class ProgramConstant {
    let tensor: BlobTensor
    var value: Graph.Value?

    init(_ tensor: BlobTensor) {
        self.tensor = tensor
    }
}

/// The names of a function, and the graph that its operations become.
final class ProgramContext {
    private let outermost = GraphBuilder()
    /// The loops whose bodies are being translated.
    private var loops: [LoopScope] = []
    /// The graph that operations are added to, or the body of a loop.
    var builder: GraphBuilder { loops.last?.body ?? outermost }
    /// The names of the function and, behind them, those of the blocks that are being translated.
    private var scopes: [[String: ProgramOperand]] = [[:]]
    /// The result of the operation "classify", where there is one.
    var classifier: (probabilities: Graph.Value, labels: ClassLabels, outputs: [String])?
    /// Operations that were translated, those of loops as often as they run.
    var operationCount = 0
    private var weightFiles: [String: BlobFile] = [:]
    private let files: WeightFiles
    /// Bytes that constants may still take: several names may speak of one record, and compressed weights grow.
    private(set) var budget: Int

    init(files: WeightFiles, programSize: Int) {
        self.files = files
        let size = min(programSize, 1 << 40) + min(max(files.totalSize, 0), 1 << 40)
        // Weights of one bit become 16-bit floats; tests have small files.
        budget = size * 32 + (64 << 20)
    }

    func define(_ name: String, _ operand: ProgramOperand) throws(Problem) {
        guard scopes[scopes.count - 1].updateValue(operand, forKey: name) == nil else {
            throw Problem("the name \"\(name)\" is defined twice")
        }
    }

    func operand(named name: String) throws(Problem) -> ProgramOperand {
        try operand(named: name, inside: loops.count)
    }

    /// The operand that a name means inside so many of the loops. One from around a loop becomes an input of its body.
    private func operand(named name: String, inside depth: Int) throws(Problem) -> ProgramOperand {
        let first = depth == 0 ? 0 : loops[depth - 1].firstScope
        let end = depth == loops.count ? scopes.count : loops[depth].firstScope
        if let operand = scopes[first..<end].reversed().lazy.compactMap({ $0[name] }).first { return operand }
        guard depth > 0 else { throw Problem("undefined value \"\(name)\"") }
        let loop = loops[depth - 1]
        if let known = loop.imported[name] { return known }
        let imported = try loop.imported(try operand(named: name, inside: depth - 1))
        loop.imported[name] = imported
        return imported
    }

    /// Counts the rounds of a loop, with those of the loops in it.
    func count(rounds: Int, of loop: LoopScope) throws(Problem) {
        guard rounds <= Counter.mostRounds / (1 + loop.innerRounds) else {
            throw Problem("the loop runs more than \(Counter.mostRounds) times")
        }
        let all = rounds * (1 + loop.innerRounds)
        try count(all)
        loops.last?.innerRounds += all
    }

    /// Runs `translate`, which adds to the body of a loop.
    func inLoop<Result>(_ translate: (LoopScope) throws(Problem) -> Result) throws(Problem) -> Result {
        let loop = LoopScope(firstScope: scopes.count)
        loop.body.place = builder.place
        loops.append(loop)
        defer { loops.removeLast() }
        return try translate(loop)
    }

    /// Runs `body` with its own names, which are forgotten afterwards.
    func inScope<Result>(_ body: () throws(Problem) -> Result) throws(Problem) -> Result {
        guard scopes.count < Self.maximumScopes else {
            throw Problem("blocks are nested deeper than \(Self.maximumScopes) levels")
        }
        scopes.append([:])
        defer { scopes.removeLast() }
        return try body()
    }

    private static let maximumScopes = 8

    func operand(of binding: MILOperation.Binding) throws(Problem) -> ProgramOperand {
        switch binding {
        case .name(let name): try operand(named: name)
        case .value(let value): try operand(of: value)
        }
    }

    /// A constant of the file.
    func operand(of value: MILValue) throws(Problem) -> ProgramOperand {
        switch value.content {
        case .strings(let strings): return .strings(strings)
        case .list(let values):
            var (strings, integers) = ([String](), [Int]())
            for value in values {
                switch try operand(of: value) {
                case .strings(let more): strings += more
                case .constant(let constant): integers += try constant.tensor.integers()
                default: throw Problem("lists of lists are not supported")
                }
            }
            return integers.isEmpty ? .strings(strings) : .integers(integers)
        case .other: throw Problem("expected a tensor or a list")
        case .elements(let bytes):
            let (type, shape) = try known(value.type)
            return .constant(ProgramConstant(try BlobTensor(type, shape: shape, bytes: bytes)))
        case .file(let name, let offset):
            let (type, shape) = try known(value.type)
            guard let count = elementCount(shape) else { throw Problem("a constant of shape \(shape) is too large") }
            let bytes = try weightFile(name).elements(at: offset, type: type, count: count)
            return .constant(ProgramConstant(try BlobTensor(type, shape: shape, bytes: bytes)))
        }
    }

    /// An operand as a value of the graph.
    func value(of operand: ProgramOperand) throws(Problem) -> Graph.Value {
        switch operand {
        case .value(let value): return value
        case .constant(let constant):
            if let value = loops.last.map({ $0.constants[ObjectIdentifier(constant)]?.value }) ?? constant.value {
                return value
            }
            let (type, bytes) = try constant.tensor.graphConstant()
            try spend(bytes.count)
            var value = try builder.constant(type, shape: constant.tensor.shape, bytes: bytes)
            if type == .f16 { value = builder.convert(value, to: .f32) }
            if let loop = loops.last {
                loop.constants[ObjectIdentifier(constant)] = (constant, value)
            } else {
                constant.value = value
            }
            return value
        case .strings: throw Problem("expected a tensor, found a string")
        case .integers, .tensors: throw Problem("expected a tensor, found a list")
        }
    }

    /// Takes bytes off what the constants of one file may take.
    func spend(_ bytes: Int) throws(Problem) {
        guard bytes <= budget else { throw Problem("the constants need far more memory than the file has") }
        budget -= bytes
    }

    private func known(_ type: MILType) throws(Problem) -> (MILDataType, [Int]) {
        guard let tensor = type.tensor, let shape = tensor.staticShape else {
            throw Problem("expected a constant tensor of a known shape")
        }
        return (tensor.element, shape)
    }

    private func weightFile(_ name: String) throws(Problem) -> BlobFile {
        if let file = weightFiles[name] { return file }
        let file = try BlobFile(files.file(named: name))
        weightFiles[name] = file
        return file
    }
}

/// The body of a loop while it is translated, and what it takes of the graph around it.
final class LoopScope {
    let body = GraphBuilder()
    /// The first scope of the body; those before belong to what is around the loop.
    let firstScope: Int
    /// The meaning of names from around the loop in the body.
    var imported: [String: ProgramOperand] = [:]
    var inputs: [LoopInput] = []
    /// The rounds of the loops in the body.
    var innerRounds = 0
    /// The values of constants in the body. The constants are kept, as they are found by what identifies them.
    var constants: [ObjectIdentifier: (constant: ProgramConstant, value: Graph.Value)] = [:]

    init(firstScope: Int) {
        self.firstScope = firstScope
    }

    /// Adds an input of the body.
    func input(_ value: Graph.Value) -> Graph.Value {
        let parameter = body.loopParameter(for: value)
        inputs.append(LoopInput(first: value, parameter: parameter))
        return parameter
    }

    fileprivate func imported(_ operand: ProgramOperand) throws(Problem) -> ProgramOperand {
        switch operand {
        case .value(let value): return .value(input(value))
        case .tensors(let list): return .tensors(try list.inLoop(input))
        case .constant, .strings, .integers: return operand
        }
    }
}

/// The files beside a model file, by their path from its folder: `weights/weight.bin`.
package struct WeightFiles: Sendable {
    private let files: [String: Bytes]

    package init(_ files: [String: Bytes] = [:]) {
        self.files = files
    }

    var totalSize: Int { files.values.reduce(0) { $0 + $1.count } }

    /// The file that a program speaks of: `@model_path/weights/weight.bin`. Throws for a name that leaves the folder.
    func file(named name: String) throws(Problem) -> Bytes {
        let prefix = "@model_path/"
        let path = name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : name
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard !path.isEmpty, !parts.contains(where: { $0.isEmpty || $0 == "." || $0 == ".." }) else {
            throw Problem("the weight file \"\(name)\" is outside of the package")
        }
        guard let bytes = files[path] else {
            throw Problem(
                "the weight file \"\(path)\" is missing: copy or download the whole .mlpackage folder, and serve that instead of "
                    + "the .mlmodel in it"
            )
        }
        return bytes
    }
}
