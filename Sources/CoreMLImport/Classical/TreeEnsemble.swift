/// Decision trees; the values of their leaves are added (TreeEnsemble.proto: `TreeEnsembleParameters`).
struct TreeEnsemble: Sendable {
    /// The number of values of a prediction.
    private(set) var dimensions = 1
    /// The greatest index of a feature plus one.
    private(set) var features = 0
    private var base: [Double] = []
    private var nodes: [Node] = []
    private var roots: [Int] = []
    private var leafValues: [(dimension: Int, value: Double)] = []

    private struct Node: Sendable {
        var test: Test
        var feature = 0
        var threshold = 0.0
        /// The indices of the children in `nodes`; for a leaf, the range of its values.
        var yes = 0, no = 0
        var missingGoesToYes = false
    }

    private enum Test: Int {
        case lessOrEqual, less, greaterOrEqual, greater, equal, notEqual, leaf
    }

    /// The identifiers of a node in the file, before `link` resolves its children.
    private struct Place: Hashable {
        let tree: UInt64, node: UInt64
        var text: String { "node \(node) of tree \(tree)" }
    }

    /// The maximum number of values of a prediction.
    private static let maximumDimensions = 1 << 20

    init(_ field: Field?) throws(Problem) {
        guard let field else { throw Problem("has no trees") }
        var reader = try field.reader()
        var dimensions = 1
        var base: [Double] = []
        var places: [Place] = []
        while let field = try reader.next() {
            switch field.number {
            case 1:
                let place = try addNode(field)
                places.append(place)
            case 2: dimensions = try field.signed()
            case 3: base += try field.packed(width: 8).elements(Double.self)
            default: break
            }
        }
        guard !places.isEmpty else { throw Problem("has no trees") }
        guard (0...Self.maximumDimensions).contains(dimensions) else {
            throw Problem("numPredictionDimensions is \(dimensions): expected 1 to \(Self.maximumDimensions)")
        }
        let sums = max(1, dimensions)
        try requireFinite(base, "basePredictionValue")
        guard base.isEmpty || base.count == sums else {
            throw Problem("has \(sums) prediction dimensions and \(base.count) base prediction values")
        }
        self.dimensions = sums
        self.base = base.isEmpty ? [Double](repeating: 0, count: sums) : base
        if let wrong = leafValues.first(where: { !(0..<sums).contains($0.dimension) }) {
            throw Problem("a leaf adds to dimension \(wrong.dimension), but predictions have \(sums)")
        }
        try link(places)
    }

    private mutating func addNode(_ field: Field) throws(Problem) -> Place {
        let message = try field.message()
        let place = Place(
            tree: UInt64(bitPattern: Int64(try message.integer(1))),
            node: UInt64(bitPattern: Int64(try message.integer(2))))
        let behavior = try message.integer(3)
        guard let test = Test(rawValue: behavior) else {
            throw Problem("has the unknown behavior \(behavior)", at: place.text)
        }
        var node = Node(test: test)
        if test == .leaf {
            node.yes = leafValues.count
            for info in try message.messages(20) {
                let value = try info.double(2)
                guard value.isFinite else { throw Problem("adds \(value): expected a finite number", at: place.text) }
                leafValues.append((try info.integer(1), value))
            }
            node.no = leafValues.count
        } else {
            node.feature = try message.integer(10)
            node.threshold = try message.double(11)
            // The identifiers of the file, until `link` replaces them by indices.
            node.yes = try message.integer(12)
            node.no = try message.integer(13)
            node.missingGoesToYes = try message.bool(14)
            guard (0..<Int(Int32.max)).contains(node.feature) else {
                throw Problem("tests feature \(node.feature)", at: place.text)
            }
            guard !node.threshold.isNaN else { throw Problem("compares with NaN", at: place.text) }
            features = max(features, node.feature + 1)
        }
        nodes.append(node)
        return place
    }

    /// Resolves the children and finds the roots. Every node must be the root of its tree, or the child of one other
    /// node.
    private mutating func link(_ places: [Place]) throws(Problem) {
        var indices: [Place: Int] = [:]
        indices.reserveCapacity(places.count)
        for (index, place) in places.enumerated() where indices.updateValue(index, forKey: place) != nil {
            throw Problem("\(place.text) is defined twice")
        }
        var isChild = [Bool](repeating: false, count: places.count)
        for (index, place) in places.enumerated() where nodes[index].test != .leaf {
            func child(_ identifier: Int, _ which: String) throws(Problem) -> Int {
                let name = Place(tree: place.tree, node: UInt64(bitPattern: Int64(identifier)))
                guard let child = indices[name] else {
                    throw Problem("its \(which) child \(name.node) is not in the tree", at: place.text)
                }
                guard !isChild[child] else { throw Problem("is the child of two nodes", at: name.text) }
                isChild[child] = true
                return child
            }
            nodes[index].yes = try child(nodes[index].yes, "true")
            nodes[index].no = try child(nodes[index].no, "false")
        }
        // Keep the order of the file, so that sums do not depend on the numbers of trees.
        roots = places.indices.filter { !isChild[$0] }
        var trees: Set<UInt64> = []
        for root in roots where !trees.insert(places[root].tree).inserted {
            throw Problem(
                "tree \(places[root].tree) has two roots: \(places[root].text) is not a child of any node either")
        }
        // No node has two parents, so a node that no root reaches is in a cycle.
        var reached = 0
        var open = roots
        while let index = open.popLast() {
            reached += 1
            if nodes[index].test != .leaf { open += [nodes[index].yes, nodes[index].no] }
        }
        guard reached == nodes.count else {
            throw Problem("\(nodes.count - reached) nodes cannot be reached from a root: their branches form a cycle")
        }
    }

    /// The sum of the base values and of one leaf of each tree.
    /// - Parameter vector: at least `features` numbers; NaN is a missing value.
    func callAsFunction(_ vector: [Double]) -> [Double] {
        var sums = base
        for root in roots {
            var node = nodes[root]
            while node.test != .leaf { node = nodes[takesTrueBranch(node, vector[node.feature]) ? node.yes : node.no] }
            for index in node.yes..<node.no { sums[leafValues[index].dimension] += leafValues[index].value }
        }
        return sums
    }

    private func takesTrueBranch(_ node: Node, _ value: Double) -> Bool {
        if value.isNaN { return node.missingGoesToYes }
        switch node.test {
        case .lessOrEqual: return value <= node.threshold
        case .less: return value < node.threshold
        case .greaterOrEqual: return value >= node.threshold
        case .greater: return value > node.threshold
        case .equal: return value == node.threshold
        case .notEqual, .leaf: return value != node.threshold
        }
    }
}

/// The function applied to the sums of trees (TreeEnsemble.proto: `TreeEnsemblePostEvaluationTransform`).
enum TreeTransform: Int {
    case none, softmax, logistic, softmaxWithZeroReference

    init(_ message: Message) throws(Problem) {
        let number = try message.integer(2)
        guard let transform = TreeTransform(rawValue: number) else {
            throw Problem("has the unknown post-evaluation transform \(number)")
        }
        self = transform
    }
}

/// Trees that predict numbers (TreeEnsemble.proto: `TreeEnsembleRegressor`).
struct TreeEnsembleRegressor: ClassicalModel {
    private let trees: TreeEnsemble
    private let transform: TreeTransform
    private let inputs: TreeInputs
    private let output: FeatureSpecification
    var takesMissing: Bool { true }

    init(_ message: Message, _ description: InterfaceSpecification) throws(Problem) {
        trees = try TreeEnsemble(message.last(1))
        transform = try TreeTransform(message)
        inputs = try TreeInputs(description, trees: trees)
        output = try description.regressorOutput()
    }

    func evaluate(_ table: FeatureTable) throws(EvaluationError) -> FeatureTable {
        let sums = trees(try inputs.vector(table))
        let values =
            switch transform {
            case .none: sums
            case .softmax: Transforms.softmax(sums)
            case .logistic: sums.map(Transforms.logistic)
            case .softmaxWithZeroReference: Transforms.softmax([0] + sums)
            }
        return [output.name: .array(NumberArray(values))]
    }
}

/// Trees that classify (TreeEnsemble.proto: `TreeEnsembleClassifier`).
struct TreeEnsembleClassifier: ClassicalModel {
    private let trees: TreeEnsemble
    private let transform: TreeTransform
    private let inputs: TreeInputs
    private let outputs: ClassifierOutputs
    var labels: [Category]? { outputs.labels }
    var takesMissing: Bool { true }

    init(_ message: Message, _ description: InterfaceSpecification) throws(Problem) {
        trees = try TreeEnsemble(message.last(1))
        transform = try TreeTransform(message)
        inputs = try TreeInputs(description, trees: trees)
        outputs = try ClassifierOutputs(labels: ClassifierOutputs.labels(message), description: description)
        let classes = outputs.labels.count, sums = trees.dimensions
        let isBinary = sums == 1 && classes == 2
        guard isBinary || sums == (transform == .softmaxWithZeroReference ? classes - 1 : classes) else {
            throw Problem("has \(sums) prediction dimensions and \(classes) classes, which do not match")
        }
    }

    func evaluate(_ table: FeatureTable) throws(EvaluationError) -> FeatureTable {
        let sums = trees(try inputs.vector(table))
        if sums.count == 1, outputs.labels.count == 2 {
            // A single number belongs to the second of two classes: its probability, or with a transform its logit.
            guard transform != .none else { return outputs.table([1 - sums[0], sums[0]]) }
            return outputs.table([Transforms.logistic(-sums[0]), Transforms.logistic(sums[0])])
        }
        switch transform {
        // Forests with more than two classes are written as the sums of their trees' values.
        case .none: return outputs.table(sums.allSatisfy { $0 >= 0 } ? Transforms.shares(sums) : sums)
        case .softmax: return outputs.table(Transforms.softmax(sums))
        case .logistic: return outputs.table(Transforms.shares(sums.map(Transforms.logistic)))
        case .softmaxWithZeroReference: return outputs.table(Transforms.softmax([0] + sums))
        }
    }
}

/// The features of trees: at least as many as the nodes use.
private struct TreeInputs: Sendable {
    private let inputs: NumberInputs
    private let minimum: Int
    /// The number of features in the description; nil if it is open.
    private let declared: Int?

    init(_ description: InterfaceSpecification, trees: TreeEnsemble) throws(Problem) {
        inputs = try NumberInputs(description.inputs)
        minimum = trees.features
        declared = description.inputs.numberCount
        if let declared, declared < minimum {
            throw Problem("tests feature \(minimum - 1), but the inputs have \(declared) numbers")
        }
    }

    func vector(_ table: FeatureTable) throws(EvaluationError) -> [Double] {
        if let declared { return try inputs.vector(table, count: declared) }
        return try inputs.vector(table, minimum: minimum)
    }
}
