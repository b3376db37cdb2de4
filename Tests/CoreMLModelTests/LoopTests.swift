import CoreMLImport
import Foundation
import Testing

/// Recurrent layers and loops: the engine repeats one round, so a graph of many steps is as large as one of few.
@Suite struct LoopTests {
    /// The operations of a graph, including those in its loops.
    private func operations(_ graph: Graph) -> [String] {
        String(decoding: IRWriter(graph).xml(), as: UTF8.self).split(separator: "\n").compactMap { line in
            guard line.hasPrefix("<layer "), let start = line.range(of: " type=\"")?.upperBound else { return nil }
            return String(line[start...].prefix { $0 != "\"" })
        }
    }

    private func graph(_ family: String, _ name: String) throws -> Graph {
        let url = Fixture.folder.appendingPathComponent(family).appendingPathComponent(name)
        if name.hasSuffix(".mlmodel") {
            let model = try ModelSpecification(Bytes([UInt8](Data(contentsOf: url))))
            return try NetworkTranslator.translate(NeuralNetwork(model.reader), model.description).graph
        }
        let data = url.appendingPathComponent("Data/com.apple.CoreML")
        let model = try ModelSpecification(
            Bytes([UInt8](Data(contentsOf: data.appendingPathComponent("model.mlmodel")))))
        let weights = data.appendingPathComponent("weights/weight.bin")
        let files = (try? Data(contentsOf: weights)).map { ["weights/weight.bin": Bytes([UInt8]($0))] } ?? [:]
        return try ProgramTranslator(model.description, files: WeightFiles(files)).translate(model.reader).graph
    }

    /// The models have 80 or 90 steps; their graphs need only the operations of one step.
    @Test(
        "a recurrent layer or loop of many steps is translated once and repeated",
        arguments: [
            ("networks", "loop-lstm-last.mlmodel"), ("networks", "loop-lstm-states.mlmodel"),
            ("networks", "loop-recurrent.mlmodel"), ("networks", "lstm-long.mlmodel"),
            ("networks", "lstm-peephole.mlmodel"), ("networks", "gru-sigmoid-hard-tanh-reverse-sequence.mlmodel"),
            ("programs", "lstm_peephole.mlpackage"),
            ("programs", "while_loop.mlpackage"), ("programs", "while_loop_lstm_last.mlpackage"),
            ("programs", "while_loop_lstm_states.mlpackage"), ("programs", "while_loop_handed_on.mlpackage"),
            ("programs", "while_loop_nested.mlpackage"),
        ])
    func aLoopIsTranslatedOnceAndRepeated(family: String, name: String) throws {
        let operations = operations(try graph(family, name))
        #expect(operations.contains("Loop"))
        #expect(operations.count < 180, "\(operations.count) operations")
    }

    /// A cell that the engine supports becomes the engine's operation: a scaled tanh without parameters is a tanh.
    @Test("a recurrent cell that the engine supports becomes one RNNSequence operation")
    func aCellOfTheEnginesIsOneOperation() throws {
        let operations = operations(try graph("networks", "simple-rnn-scaled-tanh-sequence.mlmodel"))
        #expect(operations.count { $0 == "RNNSequence" } == 1 && !operations.contains("Loop"))
    }

    /// There must be two back edges: one for the counter and one for the list. Without the second one, values may still
    /// be correct, because the engine happens to write in place.
    @Test(
        "a list that a loop writes under a second name is handed to the next round",
        arguments: ["loop-list-after.mlmodel", "loop-list-before.mlmodel", "loop-list-other.mlmodel"])
    func aWrittenListWithASecondNameIsHandedToTheNextRound(name: String) throws {
        let text = String(decoding: IRWriter(try graph("networks", name)).xml(), as: UTF8.self)
        let lines = text.split(separator: "\n").drop { $0 != "<back_edges>" }.prefix { $0 != "</back_edges>" }
        #expect(lines.count == 1 + 2, "\(lines)")
    }

    /// A loop with loopBreak or loopContinue is unrolled.
    @Test("a loop with a round that ends early is unrolled, without a Loop operation")
    func aLoopWithARoundThatEndsEarlyIsWrittenOut() throws {
        #expect(!operations(try graph("networks", "loop-interrupted.mlmodel")).contains("Loop"))
    }
}
