/// The nodes of decision trees as the file lists them (TreeEnsemble.proto: TreeEnsembleParameters).
struct TreeTable: Sendable {
    /// The number of sums of a prediction.
    private(set) var dimensions = 1
    private(set) var nodes: [Node] = []
    /// The node of each tree that is no node's child.
    private(set) var roots: [Int] = []
    private var base: [Double] = []

    struct Node: Sendable {
        var tree: UInt64 = 0, identifier: UInt64 = 0
        var behavior = Behavior.lessOrEqual
        var feature = 0
        var threshold = 0.0
        /// The identifiers of the children in the file.
        var trueChild: UInt64 = 0, falseChild: UInt64 = 0
        /// The indices of the children in the table.
        var yes = 0, no = 0
        var missingIsTrue = false
        var leaf: [(dimension: Int, value: Double)] = []
    }

    /// TreeNodeBehavior.
    enum Behavior: Int64 {
        case lessOrEqual, less, greaterOrEqual, greater, equal, notEqual, leaf
    }

    private struct Place: Hashable { let tree: UInt64, node: UInt64 }

    /// The most sums of a prediction, and the greatest index of a feature.
    private static let maximumDimensions = 1 << 16, maximumFeature: Int64 = 1 << 24

    init(_ message: WireMessage?) throws(ImpossibleJudgment) {
        var (nodes, base, dimensions): ([Node], [Double], Int64) = ([], [], 0)
        try message?.fields { (field) throws(ImpossibleJudgment) in
            switch field.number {
            case 1: nodes.append(try Self.node(field))
            case 2: dimensions = try field.integer()
            case 3: try field.append(to: &base)
            default: break
            }
        }
        guard !nodes.isEmpty else { throw ImpossibleJudgment("the file has trees without nodes") }
        guard (0...Int64(Self.maximumDimensions)).contains(dimensions) else {
            throw ImpossibleJudgment("the file's trees have \(dimensions) prediction dimensions")
        }
        // Unset means one number.
        self.dimensions = max(1, Int(dimensions))
        self.base = base.isEmpty ? [Double](repeating: 0, count: self.dimensions) : base
        guard self.base.count == self.dimensions else {
            throw ImpossibleJudgment("the file's trees have \(base.count) base values for \(dimensions) dimensions")
        }
        self.nodes = nodes
        try link()
    }

    private static func node(_ field: WireField) throws(ImpossibleJudgment) -> Node {
        // A node is as large as eight numbers.
        try field.text.keep(8)
        var node = Node()
        try field.message().fields { (field) throws(ImpossibleJudgment) in
            switch field.number {
            case 1: node.tree = UInt64(bitPattern: try field.integer())
            case 2: node.identifier = UInt64(bitPattern: try field.integer())
            case 3:
                let number = try field.integer()
                guard let behavior = Behavior(rawValue: number) else {
                    throw ImpossibleJudgment("the file's trees have the unknown behavior \(number)")
                }
                node.behavior = behavior
            case 10:
                let feature = try field.integer()
                guard (0...maximumFeature).contains(feature) else {
                    throw ImpossibleJudgment("the file's trees test the feature \(feature)")
                }
                node.feature = Int(feature)
            case 11: node.threshold = try field.double()
            case 12: node.trueChild = UInt64(bitPattern: try field.integer())
            case 13: node.falseChild = UInt64(bitPattern: try field.integer())
            case 14: node.missingIsTrue = try field.integer() != 0
            case 20: node.leaf.append(try leaf(field))
            default: break
            }
        }
        return node
    }

    private static func leaf(_ field: WireField) throws(ImpossibleJudgment) -> (dimension: Int, value: Double) {
        try field.text.keep(2)
        var (dimension, value): (Int64, Double) = (0, 0)
        try field.message().fields { (field) throws(ImpossibleJudgment) in
            switch field.number {
            case 1: dimension = try field.integer()
            case 2: value = try field.double()
            default: break
            }
        }
        guard (0..<Int64(maximumDimensions)).contains(dimension) else {
            throw ImpossibleJudgment("a leaf of the file adds to dimension \(dimension)")
        }
        return (Int(dimension), value)
    }

    /// Finds the children by their identifiers, and the roots.
    private mutating func link() throws(ImpossibleJudgment) {
        var places: [Place: Int] = [:]
        places.reserveCapacity(nodes.count)
        for (index, node) in nodes.enumerated() {
            guard places.updateValue(index, forKey: Place(tree: node.tree, node: node.identifier)) == nil else {
                throw ImpossibleJudgment("the file defines node \(node.identifier) of tree \(node.tree) twice")
            }
        }
        var isChild = [Bool](repeating: false, count: nodes.count)
        for (index, node) in nodes.enumerated() where node.behavior != .leaf {
            guard let yes = places[Place(tree: node.tree, node: node.trueChild)],
                let no = places[Place(tree: node.tree, node: node.falseChild)]
            else {
                throw ImpossibleJudgment("a child of node \(node.identifier) of tree \(node.tree) is not in the file")
            }
            (nodes[index].yes, nodes[index].no) = (yes, no)
            (isChild[yes], isChild[no]) = (true, true)
        }
        roots = nodes.indices.filter { !isChild[$0] }
        let trees = Set(nodes.map(\.tree))
        guard roots.count == trees.count, Set(roots.map { nodes[$0].tree }) == trees else {
            throw ImpossibleJudgment("a tree of the file does not have exactly one root")
        }
        for node in nodes where node.leaf.contains(where: { $0.dimension >= dimensions }) {
            throw ImpossibleJudgment("a leaf of the file adds to a dimension that predictions do not have")
        }
    }

    /// The base values plus the values of the leaf of each tree to which the numbers lead.
    func sums(_ vector: [Number]) throws(RowProblem) -> [Number] {
        var sums = [Total](repeating: Total(), count: dimensions)
        for (dimension, value) in base.enumerated() { sums[dimension].add(value) }
        for root in roots {
            var index = root, steps = 0
            while nodes[index].behavior != .leaf {
                steps += 1
                guard steps <= nodes.count else { throw .unjudged("the branches of a tree form a cycle") }
                index = try isTrue(nodes[index], vector) ? nodes[index].yes : nodes[index].no
            }
            for (dimension, value) in nodes[index].leaf { sums[dimension].add(value) }
        }
        return sums.map(\.number)
    }

    private func isTrue(_ node: Node, _ vector: [Number]) throws(RowProblem) -> Bool {
        guard node.feature < vector.count else { throw .unjudged("a tree tests a number that the inputs lack") }
        let number = vector[node.feature]
        if number.value.isNaN { return node.missingIsTrue }
        if number.slack > 0, abs(number.value - node.threshold) <= number.slack {
            throw .unjudged("a number lies on the threshold of a tree after it was rounded")
        }
        return switch node.behavior {
        case .lessOrEqual: number.value <= node.threshold
        case .less: number.value < node.threshold
        case .greaterOrEqual: number.value >= node.threshold
        case .greater: number.value > node.threshold
        case .equal: number.value == node.threshold
        case .notEqual, .leaf: number.value != node.threshold
        }
    }
}
