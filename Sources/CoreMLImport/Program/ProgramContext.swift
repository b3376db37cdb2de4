/// The operand that a name in a program stands for.
enum ProgramOperand {
    /// A value that the graph computes.
    case value(Graph.Value)
    /// A constant. It is added to the graph when an operation uses it.
    case constant(ProgramConstant)
    case strings([String])
    case integers([Int])
    /// A list of tensors that a loop reads or writes.
    case tensors(TensorList)

    var tensor: BlobTensor? {
        if case .constant(let constant) = self { constant.tensor } else { nil }
    }
}

/// A constant, and its value in the graph once an operation has used it.
final class ProgramConstant {
    let tensor: BlobTensor
    var value: Graph.Value?

    init(_ tensor: BlobTensor) {
        self.tensor = tensor
    }
}

/// The names of a function, and the graph of its operations.
final class ProgramContext {
    private let outermost = GraphBuilder()
    /// The enclosing loops of the operation being translated.
    private var loops: [LoopScope] = []
    /// The graph, or the body of the current loop.
    var builder: GraphBuilder { loops.last?.body ?? outermost }
    /// The names of the function, then those of the blocks being translated.
    private var scopes: [[String: ProgramOperand]] = [[:]]
    /// The result of the operation "classify", if there is one.
    var classifier: (probabilities: Graph.Value, labels: ClassLabels, outputs: [String])?
    /// The number of operations translated, those of loops once for each round.
    var operationCount = 0
    private var weightFiles: [String: BlobFile] = [:]
    private let files: WeightFiles
    /// The number of bytes that further constants may take: several names may refer to one record, and compressed
    /// weights expand.
    private(set) var budget: Int

    init(files: WeightFiles, programSize: Int) {
        self.files = files
        let size = min(programSize, 1 << 40) + min(max(files.totalSize, 0), 1 << 40)
        // Weights of one bit become 16-bit floats. The fixed part is for small files, as in tests.
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

    /// The operand of a name within the outer `depth` loops. An operand from outside a loop becomes an input of its
    /// body.
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

    /// Counts the rounds of a loop, multiplied with those of inner loops.
    func count(rounds: Int, of loop: LoopScope) throws(Problem) {
        guard rounds <= Counter.maximumRounds / (1 + loop.innerRounds) else {
            throw Problem("the loop runs more than \(Counter.maximumRounds) times")
        }
        let all = rounds * (1 + loop.innerRounds)
        try count(all)
        loops.last?.innerRounds += all
    }

    /// Runs `translate`, which adds to the body of a new loop.
    func inLoop<Result>(_ translate: (LoopScope) throws(Problem) -> Result) throws(Problem) -> Result {
        let loop = LoopScope(firstScope: scopes.count)
        loop.body.place = builder.place
        loops.append(loop)
        defer { loops.removeLast() }
        return try translate(loop)
    }

    /// Runs `body` in a new scope.
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

    /// Subtracts from the budget of constants. Throws if it is exceeded.
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

/// The body of a loop during translation, and its inputs from the outer graph.
final class LoopScope {
    let body = GraphBuilder()
    /// The index of the first scope of the body; earlier ones are outside the loop.
    let firstScope: Int
    /// The operands of outer names within the body.
    var imported: [String: ProgramOperand] = [:]
    var inputs: [LoopInput] = []
    var innerRounds = 0
    /// The values of constants in the body. The constants are retained, because their addresses are the keys.
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

/// The files next to a model file, by their path relative to its folder: `weights/weight.bin`.
package struct WeightFiles: Sendable {
    private let files: [String: Bytes]

    package init(_ files: [String: Bytes] = [:]) {
        self.files = files
    }

    var totalSize: Int { files.values.reduce(0) { $0 + $1.count } }

    /// The file of a reference like `@model_path/weights/weight.bin`. Throws if the path leaves the folder.
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
