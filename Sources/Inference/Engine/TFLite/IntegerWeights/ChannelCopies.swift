internal import FileFormats

/// The channels of a graph's tensors that are there twice, so that a weight that does not fit one signed byte can be
/// the sum of two, and which are left out, since they are always zero.
///
/// A convolution that needs a channel of its input twice has the one before give it twice: one more row of the same
/// weights, so the copy is exact. Operators that keep channels apart (depthwise, pooling, sums of equal shapes) pass
/// copies on; so all tensors that such operators connect have the same channels, and are one group here.
struct ChannelCopies {
    private let graph: TFLiteGraph
    /// For each tensor, another of its group; the root leads to itself.
    private var parents: [Int]
    /// Groups whose channels must stay as they are.
    private var fixed: Set<Int> = []
    /// The concatenation that gives a group its channels.
    private var concatenations: [Int: Int] = [:]
    /// The copies of each group, by the root.
    private var copies: [Int: [Int]] = [:]
    /// The channels of each group that are left out, by the root.
    private var removed: [Int: Set<Int>] = [:]
    /// The channels of each group after ``arrange()``, as numbers of the file's.
    private var layouts: [Int: [Int]] = [:]

    /// - Parameter convolutions: by the operator's index, those that can be written for other channels.
    init(_ graph: TFLiteGraph, convolutions: [Int: QuantizedConvolution]) {
        self.graph = graph
        parents = Array(graph.tensors.indices)
        typealias Code = TFLiteGraph.Code
        var fixed = graph.inputs + graph.outputs
        for (index, node) in graph.operators.enumerated() {
            let taken = node.inputs.filter { $0 >= 0 }
            switch node.code {
            case Code.convolution where convolutions[index] != nil: break
            case Code.depthwise where convolutions[index] != nil: join(taken[0], node.outputs[0])
            case Code.averagePool, Code.maxPool, Code.relu, Code.relu6, Code.quantize, Code.add:
                guard (1...2).contains(taken.count), node.outputs.count == 1 else {
                    fixed += taken + node.outputs
                    continue
                }
                for tensor in taken {
                    // A sum that repeats one of its inputs along an axis is another matter.
                    if node.code == Code.add, graph.tensors[tensor].shape != graph.tensors[node.outputs[0]].shape {
                        fixed += taken + node.outputs
                    }
                    join(tensor, node.outputs[0])
                }
            case Code.concatenation:
                let axis = (try? node.options?.number(0, Int32.self)) ?? 0
                guard node.outputs.count == 1, axis == 3 || axis == -1, areWhole(taken, in: node.outputs[0]) else {
                    fixed += taken + node.outputs
                    continue
                }
            default: fixed += taken + node.outputs
            }
        }
        fixed += graph.tensors.indices.filter {
            let tensor = graph.tensors[$0]
            return graph.producers[$0] == nil || tensor.shape.count != 4 || tensor.isVariable
        }
        for index in parents.indices { parents[index] = find(index) }
        for tensor in fixed { self.fixed.insert(root(tensor)) }
        fixConcatenations()
    }

    /// Finds the concatenation that gives a group its channels, and fixes the groups where that would not be one, or
    /// where its parts are not decided before it.
    private mutating func fixConcatenations() {
        let nodes = graph.operators.enumerated().filter {
            $0.element.code == TFLiteGraph.Code.concatenation && $0.element.outputs.count == 1
        }
        for (index, node) in nodes {
            let group = root(node.outputs[0])
            if concatenations.updateValue(index, forKey: group) != nil { fixed.insert(group) }
        }
        var isStable = false
        while !isStable {
            isStable = true
            for (index, node) in nodes where canCopy(node.outputs[0]) {
                let isDecided = node.inputs.allSatisfy { input in
                    canCopy(input) && (concatenations[root(input)] ?? -1) < index
                }
                if !isDecided {
                    fixed.insert(root(node.outputs[0]))
                    isStable = false
                }
            }
        }
    }

    /// The root of a tensor's group, while groups are being joined.
    private mutating func find(_ tensor: Int) -> Int {
        var tensor = tensor
        while parents[tensor] != tensor {
            parents[tensor] = parents[parents[tensor]]
            tensor = parents[tensor]
        }
        return tensor
    }

    /// The root of a tensor's group; each tensor leads to it directly.
    private func root(_ tensor: Int) -> Int { parents[tensor] }

    private mutating func join(_ a: Int, _ b: Int) {
        guard graph.tensors[a].shape.last == graph.tensors[b].shape.last else {
            fixed.formUnion([find(a), find(b)])
            return
        }
        let (a, b) = (find(a), find(b))
        if a == b { return }
        // The one that leads on keeps being fixed.
        if fixed.contains(a) { fixed.insert(b) }
        parents[a] = b
    }

    private func areWhole(_ parts: [Int], in whole: Int) -> Bool {
        let channels = parts.map { graph.tensors[$0].shape.last ?? 0 }
        return channels.allSatisfy { $0 > 0 && $0 < 1 << 24 }
            && channels.reduce(0, +) == graph.tensors[whole].shape.last
    }

    private func canCopy(_ tensor: Int) -> Bool { !fixed.contains(root(tensor)) }

    /// Asks for channels of a tensor to be duplicated. False where they cannot, or where its group would grow by more
    /// than a quarter (or four channels): nothing is copied then.
    mutating func request(_ channels: [Int], of tensor: Int) -> Bool {
        if channels.isEmpty { return true }
        guard canCopy(tensor), let count = graph.tensors[tensor].shape.last else { return false }
        let group = root(tensor)
        let all = Set(copies[group] ?? []).union(channels)
        guard all.count <= max(4, count / 4) else { return false }
        copies[group] = all.sorted()
        return true
    }

    /// Leaves out the channels that are always zero, where only convolutions take them.
    mutating func remove(_ silent: SilentChannels, convolutions: [Int: QuantizedConvolution]) {
        var users: [Int: [Int?]] = [:]
        for (index, node) in graph.operators.enumerated() {
            for input in node.inputs where input >= 0 {
                users[input, default: []].append(convolutions[index]?.input == input ? index : nil)
            }
        }
        for tensor in graph.tensors.indices where graph.tensors[tensor].shape.count == 4 && canCopy(tensor) {
            let users = users[tensor] ?? [nil]
            let group = root(tensor)
            // A depthwise convolution gives the same channels, so its output decides.
            let isLedOn = users.allSatisfy { user in user.flatMap { convolutions[$0]?.isDepthwise } ?? false }
            if isLedOn { continue }
            let channels = users.contains(nil) ? [] : Set(silent.channels(of: tensor))
            removed[group] = removed[group]?.intersection(channels) ?? channels
        }
        // One is left, since no tensor may be empty.
        for (group, channels) in removed where channels.count >= graph.tensors[group].shape[3] {
            removed[group] = channels.subtracting([0])
        }
    }

    /// Works out the channels of all tensors, when all requests are made.
    mutating func arrange() {
        // Backwards: what a concatenation is asked for, its inputs have to give.
        for node in graph.operators.reversed() where node.code == TFLiteGraph.Code.concatenation {
            guard let output = node.outputs.first, canCopy(output), let wanted = copies[root(output)] else { continue }
            var start = 0
            for input in node.inputs {
                let count = graph.tensors[input].shape[3]
                let own = wanted.filter { (start..<start + count).contains($0) }.map { $0 - start }
                if !own.isEmpty { copies[root(input)] = Set(copies[root(input)] ?? []).union(own).sorted() }
                start += count
            }
        }
        for node in graph.operators where node.code == TFLiteGraph.Code.concatenation {
            guard let output = node.outputs.first, canCopy(output) else { continue }
            var start = 0
            var layout: [Int] = []
            for input in node.inputs {
                layout += self.layout(input).map { $0 + start }
                start += graph.tensors[input].shape[3]
            }
            layouts[root(output)] = layout
        }
    }

    /// The channels of a tensor of four axes, as numbers of the file's.
    func layout(_ tensor: Int) -> [Int] {
        let group = root(tensor)
        if let layout = layouts[group] { return layout }
        let all = 0..<(graph.tensors[tensor].shape.last ?? 0)
        return all.filter { removed[group]?.contains($0) != true } + (copies[group] ?? [])
    }

    /// True if a tensor has other channels than in the file.
    func isChanged(_ tensor: Int) -> Bool {
        graph.tensors[tensor].shape.count == 4 && canCopy(tensor)
            && !layout(tensor).elementsEqual(0..<graph.tensors[tensor].shape[3])
    }

    /// The number of duplicated channels, each group counted once.
    var count: Int { copies.values.reduce(0) { $0 + $1.count } }
}
