import CoreMLImport
import Testing

@Suite struct GraphTests {
    @Test("a graph is written as OpenVINO XML with layers, edges and results, and its weights")
    func writesParametersConstantsOperationsAndResults() throws {
        let graph = GraphBuilder()
        let input = graph.parameter("<x>, \"größe\"", type: .f32, shape: [1, nil])
        let sum = try graph.add(input, graph.floats([1, 2]))
        graph.result("y", sum)
        graph.result("z", sum)
        let writer = IRWriter(graph.graph, name: "a&b")
        let expected = """
            <?xml version="1.0"?>
            <net name="a&amp;b" version="11">
            <layers>
            <layer id="0" name="&lt;x&gt;, &quot;größe&quot;" type="Parameter" version="opset1">
            <data element_type="f32" shape="1,?"/>
            <output><port id="0" precision="FP32" names="&lt;x&gt;\\, &quot;größe&quot;"/></output>
            </layer>
            <layer id="1" name="Const_1" type="Const" version="opset1">
            <data element_type="f32" shape="2" offset="0" size="8"/>
            <output><port id="0" precision="FP32"/></output>
            </layer>
            <layer id="2" name="Add_2" type="Add" version="opset1">
            <data auto_broadcast="numpy"/>
            <input><port id="0"/><port id="1"/></input>
            <output><port id="2" precision="FP32" names="y"/></output>
            </layer>
            <layer id="3" name="y" type="Result" version="opset1">
            <input><port id="0"/></input>
            </layer>
            <layer id="4" name="Convert_4" type="Convert" version="opset1">
            <data destination_type="f32"/>
            <input><port id="0"/></input>
            <output><port id="1" precision="FP32" names="z"/></output>
            </layer>
            <layer id="5" name="z" type="Result" version="opset1">
            <input><port id="0"/></input>
            </layer>
            </layers>
            <edges>
            <edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
            <edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
            <edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
            <edge from-layer="2" from-port="2" to-layer="4" to-port="0"/>
            <edge from-layer="4" from-port="1" to-layer="5" to-port="0"/>
            </edges>
            </net>

            """
        #expect(String(decoding: writer.xml(), as: UTF8.self) == expected)
        #expect(writer.weights().elements(Float.self) == [1, 2])
    }

    @Test("constants are aligned in the weights, and equal small constants stored once")
    func constantsAreAlignedAndSmallOnesStoredOnce() throws {
        let graph = GraphBuilder()
        let one = graph.float(1)
        #expect(graph.float(1).shape == one.shape)
        _ = try graph.constant(.u8, shape: [3], bytes: Bytes([7, 8, 9]))
        let writer = IRWriter(graph.graph)
        #expect(graph.graph.nodes.count == 2)
        #expect(writer.weightsSize == 67)
        #expect(writer.weights().elements(UInt8.self).suffix(3) == [7, 8, 9])
    }

    @Test("a constant whose numbers do not fit its shape is refused")
    func aConstantMustFitItsShape() {
        let graph = GraphBuilder()
        #expect(throws: Problem("a constant of shape [2, 2] needs 16 bytes as f32, found 12")) {
            try graph.floats([1, 2, 3], shape: [2, 2])
        }
        #expect(throws: Problem.self) { try graph.floats([], shape: [.max, .max]) }
        #expect(throws: Problem.self) { try graph.floats([], shape: [-1]) }
    }

    @Test("output shapes of graph operations are derived from their inputs")
    func shapesAreDerived() throws {
        let graph = GraphBuilder()
        let image = graph.parameter("image", type: .f32, shape: [1, 3, 7, nil])
        #expect(try graph.transpose(image, [0, 2, 3, 1]).shape == [1, 7, nil, 3])
        #expect(try graph.reduce("ReduceMean", image, axes: [-1, 1], keepsAxes: false).shape == [1, 7])
        #expect(try graph.reduce("ReduceMean", image, axes: [-1], keepsAxes: true).shape == [1, 3, 7, 1])
        let list = graph.parameter("list", type: .f32, shape: [12])
        #expect(try graph.reshape(list, to: [3, -1]).shape == [3, 4])
        #expect(throws: Problem.self) { try graph.reshape(list, to: [5, -1]) }
        #expect(try graph.slice(list, axes: [0], starts: [-1], ends: [Int(Int32.min)], steps: [-5]).shape == [3])
        #expect(try graph.slice(list, axes: [0], starts: [2], ends: [100], steps: [3]).shape == [4])
        #expect(try graph.unsqueeze(list, [0, -1]).shape == [1, 12, 1])
        #expect(try graph.matmul(list, graph.reshape(list, to: [12, 1])).shape == [1])
        #expect(throws: Problem("the shapes [12] and [5] cannot be broadcast together")) {
            try graph.add(list, graph.floats([1, 2, 3, 4, 5]))
        }
        let window = GraphBuilder.Window(strides: [2], dilations: [1], padding: .amounts(begin: [1], end: [1]))
        let signal = graph.parameter("signal", type: .f32, shape: [1, 2, 9])
        #expect(try graph.maxPool(signal, kernel: [2], window: window).shape == [1, 2, 5])
        #expect(try graph.maxPool(signal, kernel: [2], window: window, roundsUp: true).shape == [1, 2, 5])
    }
}
