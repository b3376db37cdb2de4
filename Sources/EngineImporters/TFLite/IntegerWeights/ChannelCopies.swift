internal import FileFormats

/// Plans the channels of a graph's tensors: some are duplicated, so that a weight that does not fit into a signed byte
/// can be the sum of two; others are removed, because they are always zero.
///
/// If a convolution needs a channel of its input twice, the preceding convolution computes it twice: it gets another
/// row with the same weights, so that the copy is exact. Operators that process channels independently (depthwise,
/// pooling, sums of equal shapes) pass copies on. All tensors that such operators connect therefore have the same
/// channels, and form a group here.
struct ChannelCopies {
    private let graph: TFLiteGraph
    /// For each tensor, another tensor of its group; that of the root is the root itself.
    private var parents: [Int]
    /// Groups of channels that must not change.
    private var fixed: Set<Int> = []
    /// The concatenation that produces a group's channels.
    private var concatenations: [Int: Int] = [:]
    /// The duplicated channels of each group, by its root.
    private var copies: [Int: [Int]] = [:]
    /// The removed channels of each group, by its root.
    private var removed: [Int: Set<Int>] = [:]
    /// The channels of each group after ``arrange()``, as channel numbers of the file.
    private var layouts: [Int: [Int]] = [:]

    /// - Parameter convolutions: the convolutions that can be written for other channels, by the operator's index.
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
                    // A sum that broadcasts one of its inputs along an axis is not supported.
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

    /// Finds the concatenation that produces each group's channels. Fixes groups with more than one, and those with
    /// parts whose layout is not determined before the concatenation.
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

    /// The root of a tensor's group, after all groups are joined: each tensor's parent is the root.
    private func root(_ tensor: Int) -> Int { parents[tensor] }

    private mutating func join(_ a: Int, _ b: Int) {
        guard graph.tensors[a].shape.last == graph.tensors[b].shape.last else {
            fixed.formUnion([find(a), find(b)])
            return
        }
        let (a, b) = (find(a), find(b))
        if a == b { return }
        // If either root is fixed, the joined group stays fixed.
        if fixed.contains(a) { fixed.insert(b) }
        parents[a] = b
    }

    private func areWhole(_ parts: [Int], in whole: Int) -> Bool {
        let channels = parts.map { graph.tensors[$0].shape.last ?? 0 }
        return channels.allSatisfy { $0 > 0 && $0 < 1 << 24 }
            && channels.reduce(0, +) == graph.tensors[whole].shape.last
    }

    private func canCopy(_ tensor: Int) -> Bool { !fixed.contains(root(tensor)) }

    /// Requests the duplication of some channels of a tensor. Returns false if it is not possible, or if the group
    /// would grow by more than a quarter (or four channels); then no channel is duplicated.
    mutating func request(_ channels: [Int], of tensor: Int) -> Bool {
        if channels.isEmpty { return true }
        guard canCopy(tensor), let count = graph.tensors[tensor].shape.last else { return false }
        let group = root(tensor)
        let all = Set(copies[group] ?? []).union(channels)
        guard all.count <= max(4, count / 4) else { return false }
        copies[group] = all.sorted()
        return true
    }

    /// Removes channels that are always zero, if only convolutions use them.
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
            // A depthwise convolution has the same channels as its output, so the output decides.
            let isLedOn = users.allSatisfy { user in user.flatMap { convolutions[$0]?.isDepthwise } ?? false }
            if isLedOn { continue }
            let channels = users.contains(nil) ? [] : Set(silent.channels(of: tensor))
            removed[group] = removed[group]?.intersection(channels) ?? channels
        }
        // At least one channel remains, because no tensor may be empty.
        for (group, channels) in removed where channels.count >= graph.tensors[group].shape[3] {
            removed[group] = channels.subtracting([0])
        }
    }

    /// Computes the channels of all tensors, after all requests were made.
    mutating func arrange() {
        // In reverse order: copies that are requested from a concatenation must come from its inputs.
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

    /// The channels of a tensor with four axes, as channel numbers of the file.
    func layout(_ tensor: Int) -> [Int] {
        let group = root(tensor)
        if let layout = layouts[group] { return layout }
        let all = 0..<(graph.tensors[tensor].shape.last ?? 0)
        return all.filter { removed[group]?.contains($0) != true } + (copies[group] ?? [])
    }

    /// True if a tensor's channels differ from those in the file.
    func isChanged(_ tensor: Int) -> Bool {
        graph.tensors[tensor].shape.count == 4 && canCopy(tensor)
            && !layout(tensor).elementsEqual(0..<graph.tensors[tensor].shape[3])
    }

    /// The number of duplicated channels, each group counted once.
    var count: Int { copies.values.reduce(0) { $0 + $1.count } }
}
