/// Finds the tokens that a text begins with. The children of a node are next to each other, sorted by their bytes.
struct PrefixTrie: Sendable {
    private var labels: [UInt8] = [0]
    /// The first child of each node; the children of node `n` end where those of node `n + 1` begin.
    private var firstChild: [UInt32] = []
    /// The value of the token that ends at a node, or -1.
    private var values: [Int32] = []

    /// The node of the empty text.
    static let root = 0

    /// Builds the trie of a table; the value of a token is its index in the table, or its id.
    init(_ table: TokenTable, ofIndexes: Bool = false) {
        let order = Self.sorted(table)
        // Nodes are numbered level by level; each has the range of tokens that begin with its text.
        var level = [(range: 0..<order.count, depth: 0)]
        var next = 1
        while !level.isEmpty {
            var below: [(range: Range<Int>, depth: Int)] = []
            for node in level {
                firstChild.append(UInt32(next))
                var start = node.range.lowerBound, value: Int32 = -1
                if start < node.range.upperBound, table.range(order[start]).count == node.depth {
                    value = Int32(ofIndexes ? UInt32(order[start]) : table.id(at: order[start]))
                    start += 1
                }
                values.append(value)
                while start < node.range.upperBound {
                    let label = table.bytes[table.range(order[start]).lowerBound + node.depth]
                    var end = start + 1
                    while end < node.range.upperBound,
                        table.bytes[table.range(order[end]).lowerBound + node.depth] == label
                    {
                        end += 1
                    }
                    labels.append(label)
                    below.append((start..<end, node.depth + 1))
                    next += 1
                    start = end
                }
            }
            level = below
        }
        firstChild.append(UInt32(next))
    }

    /// The node after another byte; nil if no token begins so.
    @inline(__always)
    func step(_ node: Int, _ byte: UInt8) -> Int? {
        var low = Int(firstChild[node]), high = Int(firstChild[node + 1])
        while low < high {
            let middle = (low + high) / 2
            if labels[middle] < byte { low = middle + 1 } else { high = middle }
        }
        return low < Int(firstChild[node + 1]) && labels[low] == byte ? low : nil
    }

    /// The node after another character; nil if no token begins so.
    @inline(__always)
    func step(_ node: Int, _ character: Unicode.Scalar) -> Int? {
        if character.value < 0x80 { return step(node, UInt8(truncatingIfNeeded: character.value)) }
        var node = node
        for byte in UTF8Bytes(character) {
            guard let next = step(node, byte) else { return nil }
            node = next
        }
        return node
    }

    /// The value of the token that ends at a node; nil if no token ends there.
    @inline(__always)
    func value(_ node: Int) -> UInt32? { values[node] < 0 ? nil : UInt32(values[node]) }

    /// The indexes of the tokens, in the order of their bytes.
    private static func sorted(_ table: TokenTable) -> [Int] {
        table.bytes.withUnsafeBytes { all in
            // The first eight bytes decide nearly always.
            var keys = (0..<table.count).map { index -> (head: UInt64, index: Int) in
                let token = all[table.range(index)]
                var head: UInt64 = 0
                for byte in token.prefix(8) { head = head << 8 | UInt64(byte) }
                return (head << UInt64(8 * (8 - min(token.count, 8))), index)
            }
            keys.sort { left, right in
                if left.head != right.head { return left.head < right.head }
                return all[table.range(left.index)].lexicographicallyPrecedes(all[table.range(right.index)])
            }
            return keys.map(\.index)
        }
    }
}
