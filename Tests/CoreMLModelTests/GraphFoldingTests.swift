import CoreMLImport
import Testing

/// Folding of operations on large constants before the engine reads the graph. The fixtures' tests also run every
/// graph folded.
@Suite struct GraphFoldingTests {
    /// A 1 × 1 convolution of two channels with 16-bit weights, followed by `rest`.
    private func convolution(
        groups: Int = 1, _ rest: (GraphBuilder, Graph.Value) throws -> Graph.Value
    ) throws -> Graph {
        let graph = GraphBuilder()
        let x = graph.parameter("x", type: .f32, shape: [1, 2, 1, 1])
        let halves: [Float16] = groups == 1 ? [1, 2, 3, 4] : [5, 6]
        let weights = try graph.floats(
            .f16, shape: [2, 2 / groups, 1, 1], bytes: Bytes(of: halves.map(\.bitPattern)))
        let window = GraphBuilder.Window(
            strides: [1, 1], dilations: [1, 1], padding: .amounts(begin: [0, 0], end: [0, 0]))
        let sum = try graph.convolution(x, weights, groups: groups, window: window)
        graph.result("y", graph.unary("ReLU", try rest(graph, sum)))
        return graph.graph
    }

    private func types(_ graph: Graph) -> [String] {
        let text = String(decoding: IRWriter(graph).xml(), as: UTF8.self)
        return text.split(separator: "\n").compactMap { line in
            line.split(separator: "\"").firstIndex { $0.hasSuffix(" type=") }.map { index in
                String(line.split(separator: "\"")[index + 1])
            }
        }
    }

    private func run(_ graph: Graph) throws -> [Double] {
        let input = GraphRunner.Array(shape: [1, 2, 1, 1], values: [10, 100])
        return try GraphRunner(graph).run(["x": input])["y"]?.values ?? []
    }

    @Test("factors and biases after a convolution become its weights and one addition")
    func factorsAndBiasesBehindAConvolutionGoIntoIt() throws {
        let graph = try convolution { graph, sum in
            let biased = try graph.add(sum, graph.floats([1, -1], shape: [1, 2, 1, 1]))
            let scaled = try graph.multiply(biased, graph.floats([0.5, 3], shape: [1, 2, 1, 1]))
            return graph.convert(try graph.add(scaled, graph.floats([7, 8], shape: [2, 1, 1])), to: .f32)
        }
        #expect(types(graph.folded()) == ["Const", "Const", "Parameter", "Convolution", "Add", "ReLU", "Result"])
        // (10 + 200 + 1) / 2 + 7, (30 + 400 - 1) · 3 + 8.
        #expect(try run(graph) == [112.5, 1295])
        #expect(try run(graph.folded()) == [112.5, 1295])
    }

    @Test("factors after a grouped convolution are folded into its weights")
    func groupsHaveTheirOwnFactors() throws {
        let graph = try convolution(groups: 2) { graph, sum in
            try graph.scaled(graph.multiply(graph.floats([2, 4], shape: [2, 1, 1]), sum), by: 10)
        }
        #expect(!types(graph.folded()).contains("Multiply"))
        #expect(try run(graph.folded()) == [1000, 24000])
    }

    @Test("a factor stays if the sum is used elsewhere, or if the factor is along another axis")
    func whatIsUsedElsewhereStaysAsItIs() throws {
        let graph = try convolution { graph, sum in
            let scaled = try graph.multiply(sum, graph.floats([2, 3], shape: [1, 2, 1, 1]))
            return try graph.subtract(scaled, sum)
        }
        #expect(types(graph.folded()).contains("Multiply"))
        #expect(try run(graph.folded()) == [210, 860])
        // A factor along another axis.
        let other = try convolution { graph, sum in
            try graph.multiply(sum, graph.floats([1, 2], shape: [1, 1, 1, 2]))
        }
        #expect(types(other.folded()).contains("Multiply"))
        #expect(try run(other.folded()) == [210, 420, 430, 860])
    }
}
