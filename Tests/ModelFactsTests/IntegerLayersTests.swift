import FileFormats
import Foundation
import ModelFacts
import TestSupport
import Testing

/// Layers with both operands rounded to 8 bits. InferenceTests.ByteProductsTests has whole files.
@Suite struct IntegerLayersTests {
    /// The count of an IR with layers (type, attributes of `data`) and edges (from, to, port).
    private static func layers(_ layers: [(String, String)], _ edges: [(Int, Int, Int)]) -> Int {
        let nodes = layers.enumerated().map { index, layer in
            "<layer id=\"\(index)\" type=\"\(layer.0)\"><data \(layer.1)/></layer>"
        }
        let lines = edges.map { "<edge from-layer=\"\($0.0)\" to-layer=\"\($0.1)\" to-port=\"\($0.2)\"/>" }
        let text = "<net><layers>\(nodes.joined())</layers><edges>\(lines.joined())</edges></net>"
        return OpenVINOReader.integerLayers(Array(text.utf8))
    }

    /// A convolution of a quantized picture by scaled weights of some type.
    private static func convolution(
        quantizer: String = "levels=\"256\"", weights: String = "i8", between: String = "MaxPool"
    ) -> Int {
        layers(
            [
                ("Parameter", ""), ("FakeQuantize", quantizer), (between, ""), ("Const", "element_type=\"\(weights)\""),
                ("Convert", "destination_type=\"f32\""), ("Const", "element_type=\"f32\""), ("Multiply", ""),
                ("Convolution", ""), ("Result", ""),
            ],
            [(0, 1, 0), (1, 2, 0), (3, 4, 0), (4, 6, 0), (5, 6, 1), (2, 7, 0), (6, 7, 1), (7, 8, 0)])
    }

    @Test("a convolution is an integer layer only if both input and weights have 8 bits")
    func bothOperandsCount() {
        #expect(Self.convolution() == 1)
        #expect(Self.convolution(quantizer: "levels=\"255\"", weights: "u8", between: "Reshape") == 1)
        #expect(Self.convolution(quantizer: "levels=\"65536\"") == 0, "16 bits")
        #expect(Self.convolution(weights: "f32") == 0)
        #expect(Self.convolution(weights: "i32") == 0)
        #expect(Self.convolution(between: "SoftMax") == 0, "its values are new ones")
    }

    @Test("8-bit weights without a quantized input do not make an integer layer")
    func weightsAloneDoNotCount() {
        let count = Self.layers(
            [
                ("Parameter", ""), ("Const", "element_type=\"i8\""), ("Convert", ""), ("Const", "element_type=\"f32\""),
                ("Multiply", ""), ("MatMul", ""), ("Result", ""),
            ], [(1, 2, 0), (2, 4, 0), (3, 4, 1), (0, 5, 0), (4, 5, 1), (5, 6, 0)])
        #expect(count == 0)
    }

    @Test("a product of two quantized values is an integer layer if a constant scales them")
    func productsOfTwoQuantizedValuesCount() {
        let layers = [
            ("Parameter", ""), ("FakeQuantize", "levels=\"256\""), ("FakeQuantize", "levels=\"256\""),
            ("Transpose", ""),
            ("Multiply", ""), ("Const", "element_type=\"f32\""), ("MatMul", ""), ("Parameter", ""),
        ]
        let edges = [(0, 1, 0), (0, 2, 0), (2, 3, 0), (1, 4, 0), (4, 6, 0), (3, 6, 1)]
        #expect(Self.layers(layers, edges + [(5, 4, 1)]) == 1)
        #expect(Self.layers(layers, edges + [(7, 4, 1)]) == 0, "scaled by what is no constant")
    }

    @Test("counting integer layers ends on a graph with a cycle")
    func aGraphThatIsAnEndlessCircleEnds() {
        #expect(
            Self.layers(
                [("Reshape", ""), ("Reshape", ""), ("MatMul", "")], [(0, 1, 0), (1, 0, 0), (0, 2, 0), (1, 2, 1)]) == 0)
    }

    /// A SavedModel's function after training for quantization: Keras puts the layers in it.
    @Test("quantized layers in a SavedModel's functions are counted as integer layers")
    func aSavedModelsFunctionsCount() {
        func node(_ name: String, _ operation: String, _ inputs: String...) -> [UInt8] {
            FuzzSeeds.field(
                3, FuzzSeeds.text(1, name) + FuzzSeeds.text(2, operation) + inputs.flatMap { FuzzSeeds.text(3, $0) })
        }
        func model(_ quantizer: String, weights: String) -> [UInt8] {
            let nodes =
                node("act", quantizer, "x", "least", "most") + node("flat", "Identity", "act:outputs:0")
                + node("read", "ReadVariableOp", "w")
                + node("rounded", "FakeQuantWithMinMaxVarsPerChannel", "read:value:0", "least", "most")
                + node("conv", "Conv2D", "flat:output:0", weights)
            let function = FuzzSeeds.field(1, FuzzSeeds.text(1, "serve")) + nodes
            return FuzzSeeds.savedModel(FuzzSeeds.field(2, FuzzSeeds.field(1, function)))
        }
        func count(_ bytes: [UInt8]) -> Int { TensorFlowReader.integerLayers(ByteSource(bytes)) }
        #expect(count(model("FakeQuantWithMinMaxVars", weights: "rounded:outputs:0")) == 1)
        #expect(count(model("FakeQuantWithMinMaxVars", weights: "read:value:0")) == 0)
        #expect(count(model("Relu6", weights: "rounded:outputs:0")) == 0)
        let whole = model("FakeQuantWithMinMaxVars", weights: "rounded:outputs:0")
        for length in whole.indices { #expect(count(Array(whole.prefix(length))) <= 1) }
    }
}
