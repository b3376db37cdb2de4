extension TreeTable {
    /// The numbers that lead to some nodes and lie on the threshold there: spread evenly over all nodes of the file.
    /// For some of them, the number is also missing.
    func landmarks(limit: Int) -> [Landmark] {
        let branches = nodes.indices.filter { nodes[$0].behavior != .leaf }
        var parents = [Int](repeating: -1, count: nodes.count)
        for index in branches { (parents[nodes[index].yes], parents[nodes[index].no]) = (index, index) }
        let count = min(limit, branches.count)
        return (0..<count).flatMap { place in
            let target = branches[place * branches.count / count]
            let marks = [landmark(target, parents, isMissing: false)]
            return (place % 5 == 4 ? marks + [landmark(target, parents, isMissing: true)] : marks).compactMap(\.self)
        }
    }

    private func landmark(_ target: Int, _ parents: [Int], isMissing: Bool) -> Landmark? {
        var limits: [Int: (low: Double, high: Double)] = [:]
        var child = target, steps = 0
        while parents[child] >= 0, steps < nodes.count {
            let parent = nodes[parents[child]]
            let bounds = parent.bounds(isTrue: child == parent.yes)
            let known = limits[parent.feature] ?? (-.infinity, .infinity)
            limits[parent.feature] = (max(known.low, bounds.low), min(known.high, bounds.high))
            child = parents[child]
            steps += 1
        }
        let node = nodes[target]
        let own = limits.removeValue(forKey: node.feature) ?? (-.infinity, .infinity)
        guard own.low <= node.threshold, node.threshold <= own.high else { return nil }
        var landmark = Landmark(edge: isMissing ? nil : node.feature)
        landmark.values.append((node.feature, isMissing ? .nan : node.threshold))
        for (feature, limit) in limits.sorted(by: { $0.key < $1.key }) where limit.low <= limit.high {
            landmark.values.append((feature, Self.inside(limit.low, limit.high)))
        }
        return landmark
    }

    /// A number well inside a range, if it has room.
    private static func inside(_ low: Double, _ high: Double) -> Double {
        if low.isFinite, high.isFinite { return low + (high - low) / 2 }
        return low.isFinite ? low + max(1, abs(low)) : high - max(1, abs(high))
    }
}

extension TreeTable.Node {
    /// The numbers that lead to a child of the node. A number that must only differ from the threshold is not bounded.
    fileprivate func bounds(isTrue: Bool) -> (low: Double, high: Double) {
        switch (behavior, isTrue) {
        case (.lessOrEqual, true), (.greater, false): (-.infinity, threshold)
        case (.less, true), (.greaterOrEqual, false): (-.infinity, threshold.nextDown)
        case (.greaterOrEqual, true), (.less, false): (threshold, .infinity)
        case (.greater, true), (.lessOrEqual, false): (threshold.nextUp, .infinity)
        case (.equal, true), (.notEqual, false): (threshold, threshold)
        case (.equal, false), (.notEqual, true), (.leaf, _): (-.infinity, .infinity)
        }
    }
}
