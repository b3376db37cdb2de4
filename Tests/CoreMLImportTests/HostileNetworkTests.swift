import CoreMLImport
import Foundation
import TestSupport
import Testing

/// Damaged and synthetic files: each gives a problem, never a crash.
@Suite struct HostileNetworkTests {
    /// Files with the layers that read the most data: windows, recurrent layers, quantized weights, a classifier with
    /// an image.
    static let files = [
        "classifier-rgb", "lstm-peephole", "weights-linear-3-3", "deconvolution-output-shape", "slice-static-squeeze",
        "loop-interrupted",
    ]

    private static func bytes(_ name: String) throws -> [UInt8] {
        let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/coreml/networks")
        return try [UInt8](Data(contentsOf: folder.appendingPathComponent("\(name).mlmodel")))
    }

    /// True if the file is translated; otherwise its problems must have a text.
    @discardableResult
    private static func isTranslated(_ bytes: [UInt8]) -> Bool {
        do {
            let model = try ModelSpecification(Bytes(bytes))
            let network = try NeuralNetwork(model.reader)
            let translated = try NetworkTranslator.translate(network, model.description)
            return !IRWriter(translated.graph).xml().isEmpty
        } catch let error as ImportError {
            #expect(!error.problems.isEmpty)
            return false
        } catch {
            #expect(error is Problem)
            return false
        }
    }

    @Test("a neural network cut at any byte does not crash the importer", arguments: files)
    func everyTruncationIsAProblem(name: String) throws {
        let bytes = try Self.bytes(name)
        #expect(Self.isTranslated(bytes))
        for count in 0..<bytes.count { Self.isTranslated(Array(bytes[..<count])) }
    }

    @Test("a neural network with a flipped bit does not crash the importer", arguments: files)
    func flippedBitsDoNotCrash(name: String) throws {
        let original = try Self.bytes(name)
        for bit in stride(from: 0, to: original.count * 8, by: 7) {
            var bytes = original
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            Self.isTranslated(bytes)
        }
    }

    // MARK: Made-up files

    private func varint(_ value: UInt64) -> [UInt8] {
        var (value, bytes): (UInt64, [UInt8]) = (value, [])
        repeat {
            bytes.append(UInt8(value & 0x7F) | (value > 0x7F ? 0x80 : 0))
            value >>= 7
        } while value > 0
        return bytes
    }
    private func number(_ field: Int, _ value: UInt64) -> [UInt8] { varint(UInt64(field) << 3) + varint(value) }
    private func field(_ field: Int, _ content: [UInt8]) -> [UInt8] {
        varint(UInt64(field) << 3 | 2) + varint(UInt64(content.count)) + content
    }
    private func text(_ number: Int, _ text: String) -> [UInt8] { field(number, Array(text.utf8)) }

    /// A model with these layers, an input array "x" [4] and an output "y".
    private func model(_ layers: [[UInt8]], extents: [UInt64] = [4]) -> [UInt8] {
        let array = field(1, extents.flatMap { varint($0) }) + number(2, 65568)
        let input = text(1, "x") + field(3, field(5, array))
        let output = text(1, "y") + field(3, field(5, number(2, 65568)))
        let network = layers.flatMap { field(1, $0) } + number(5, 1)
        return number(1, 4) + field(2, field(1, input) + field(10, output)) + field(500, network)
    }

    private func layer(_ kind: Int, _ body: [UInt8], from input: String = "x", to output: String = "y") -> [UInt8] {
        text(1, "layer") + text(2, input) + text(3, output) + field(kind, body)
    }

    private func problems(_ bytes: [UInt8]) -> [String] {
        do {
            let model = try ModelSpecification(Bytes(bytes))
            _ = try NetworkTranslator.translate(NeuralNetwork(model.reader), model.description)
            return []
        } catch let error as ImportError {
            return error.problems.map(\.description)
        } catch {
            return ["\(error)"]
        }
    }

    @Test("all problems of a network are reported at once with their layers")
    func allProblemsAreReportedAtOnceWithTheirPlaces() {
        let layers = [
            layer(500, [], to: "a"), layer(500, [], from: "a", to: "b"), layer(4000, [], from: "x", to: "c"),
            layer(985, field(1, [5]), from: "x", to: "d"), layer(130, [], from: "nowhere", to: "y"),
        ]
        #expect(
            problems(model(layers)) == [
                "layers[0] \"layer\": custom layers need code of an app; "
                    + "export the network without them (2 layers)",
                "layers[2] \"layer\": layers of type 4000 are not supported",
                "layers[3] \"layer\" (transpose): [5] is not a permutation of the 1 axes of [4]",
                "layers[4] \"layer\" (activation): no input or earlier layer produces \"nowhere\"",
            ])
    }

    @Test("a layer with missing or too few weights is refused with the expected count")
    func missingAndWrongWeightsAreProblems() {
        let inner = number(1, 4) + number(2, 3)
        #expect(
            problems(model([layer(140, inner)])) == [
                "layers[0] \"layer\" (innerProduct).weights: 12 numbers are missing"
            ])
        #expect(
            problems(model([layer(140, inner + field(20, field(1, [0, 0, 0, 0])))])) == [
                "layers[0] \"layer\" (innerProduct).weights: expected 12 numbers, found 1"
            ])
        // The greatest 32-bit numbers: their products overflow.
        let huge = number(1, 0x7FFF_FFFF) + number(2, 0x7FFF_FFFF)
        #expect(problems(model([layer(140, huge)])).count == 1)
        #expect(problems(model([layer(140, number(1, .max) + number(2, .max))])).count == 1)
    }

    @Test("impossible input extents are refused, and huge extents do not crash the importer")
    func hugeExtentsAreProblemsOrLeftToTheEngine() {
        #expect(problems(model([layer(600, [])], extents: [.max])).count == 1)
        #expect(problems(model([layer(600, [])], extents: [1 << 40])).count == 1)
        let large: [UInt64] = [1 << 30, 1 << 30, 1 << 30]
        for kind in [120, 210, 211, 301, 1320, 1130, 1461] {
            _ = problems(model([layer(kind, number(1, 1 << 30) + number(2, 3))], extents: large))
        }
    }

    @Test("a layer whose result has more than 8 axes is refused")
    func axesAreBounded() {
        let grow = (0..<400).map { index in
            layer(1125, field(1, [0, 1, 2, 3]), from: index == 0 ? "x" : "b\(index)", to: "b\(index + 1)")
        }
        #expect(
            problems(model(grow)).first == "layers[1] \"layer\" (expandDims): the result has 9 axes: the limit is 8")
    }

    @Test("300 recurrent layers of 2,048 steps each are translated")
    func recurrentLayersOfManyStepsStaySmall() {
        // Many layers of 2048 steps that the engine lacks: each becomes one loop.
        let one = field(1, [0, 0, 128, 63])
        let relu = field(10, field(10, []))
        let body =
            number(1, 1) + number(2, 1) + relu + number(15, 1) + field(30, one) + field(31, one)
        let layers = (0..<300).map { index in
            layer(400, body, from: index == 0 ? "x" : "b\(index)", to: index == 299 ? "y" : "b\(index + 1)")
        }
        let isTranslated = Self.isTranslated(model(layers, extents: [2048, 1, 1, 1, 1]))
        #expect(isTranslated)
    }

    // MARK: Loops

    /// A layer that contains networks, without inputs and outputs.
    private func control(_ kind: Int, _ body: [UInt8]) -> [UInt8] { text(1, "control") + field(kind, body) }

    @Test("a network whose loops run too often is refused")
    func loopsAreBounded() {
        let copy = layer(600, [], to: "y")
        // Sixteen nested loops of 4000 rounds each.
        var body = field(1, copy)
        for _ in 0..<16 { body = field(1, control(615, number(1, 4000) + field(4, body))) }
        let found = problems(model([control(615, number(1, 4000) + field(4, body))]))
        #expect(found.first?.hasSuffix("the loops of the network run more than 200000 layers") == true, "\(found)")
        // Nested conditions: each is translated once and then unrolled, because its number of rounds is not known.
        let unknown = field(1, layer(600, [], to: "goes on"))
        var condition = Array([[UInt8]](repeating: unknown, count: 400).joined())
        for _ in 0..<10 {
            condition = field(1, control(615, text(2, "goes on") + field(3, condition))) + unknown
        }
        let nested = problems(model([copy, control(615, text(2, "goes on") + field(3, condition))]))
        #expect(nested.first?.hasSuffix("the loops of the network run more than 200000 layers") == true, "\(nested)")
        #expect(
            problems(model([copy, control(615, number(1, 70_000) + field(4, field(1, copy)))])) == [
                "layers[1] \"control\": the loop runs more than 65536 times"
            ])
    }

    @Test("loops of unknown length, stray breaks and problems within loops are reported")
    func loopsOfUnknownLengthAndStrayBreaksAreProblems() {
        let copy = layer(600, [], to: "y")
        let condition = field(3, field(1, layer(600, [], to: "goes on"))) + text(2, "goes on")
        #expect(
            problems(model([copy, control(615, condition + field(4, field(1, copy)))])) == [
                "layers[1] \"control\": the number of iterations is known only at run time: export the model with a fixed "
                    + "length of its sequences, or without the loop"
            ])
        #expect(
            problems(model([copy, control(620, [])])) == [
                "layers: a loopBreak or loopContinue layer outside a loop"
            ])
        // Layers in loops and branches have locations of their own, and are counted with the others.
        let custom = layer(500, [], to: "a")
        #expect(
            problems(model([copy, custom, control(615, number(1, 2) + field(4, field(1, custom)))])) == [
                "layers[1] \"layer\": custom layers need code of an app; export the network without "
                    + "them (2 layers)"
            ])
        let unknown = layer(130, [], from: "nowhere", to: "z")
        #expect(
            problems(model([copy, control(615, number(1, 2) + field(4, field(1, unknown)))])) == [
                "layers[1] \"control\".bodyNetwork.layers[0] \"layer\" (activation): no input or earlier layer produces \"nowhere\""
            ])
    }

    @Test("empty files, other files and unknown model types are refused with the reason")
    func emptyAndForeignFilesAreProblems() {
        #expect(problems([]) == ["is empty: copy or download it again"])
        #expect(problems(Array("<html></html>".utf8)).count == 1)
        #expect(problems(number(1, 4)) == ["the model has no type: it is empty"])
        #expect(problems(number(1, 4) + field(299, [])) == ["unknown model type 299"])
        #expect(
            problems(number(1, 11) + field(500, [])) == [
                "unknown specification version 11: expected 1 to 10 (iOS 11 to 26)"
            ])
    }

    /// An array without axes, and a squeeze that removes no axis.
    @Test("an input array without axes can be squeezed")
    func anArrayWithoutAxesIsSqueezed() {
        #expect(problems(model([layer(1120, [])], extents: [])) == [])
        #expect(problems(model([layer(1120, number(2, 1))], extents: [])) == [])
    }

    /// A few bytes can request gigabytes: from the engine when it compiles, if the values are constant, or when it
    /// runs.
    @Test("a layer whose tensor is too large for memory is refused with its name")
    func valuesThatNoMemoryHoldsAreRefused() throws {
        func extents(_ number: Int, _ extents: UInt64...) -> [UInt8] { field(number, extents.flatMap { varint($0) }) }
        let (fill, repeated, tiled) = (1085, 1105, 920)
        for small in [
            layer(fill, extents(2, 4096, 4096)), layer(repeated, extents(1, 1 << 13, 1 << 13, 4)),
            layer(tiled, extents(1, 1 << 26)),
        ] {
            #expect(Self.isTranslated(model([small])))
        }
        for large in [
            layer(fill, extents(2, 4096, 4097)), layer(fill, extents(2, 1 << 20, 1 << 20)),
            layer(repeated, extents(1, 1 << 13, 1 << 14, 4)), layer(tiled, extents(1, 1 << 27)),
        ] {
            let file = try ModelSpecification(Bytes(model([large])))
            let error = #expect(throws: ImportError.self) {
                try NetworkTranslator.translate(NeuralNetwork(file.reader), file.description)
            }
            let description = error?.description ?? ""
            #expect(description.contains("\"layer\": a tensor of shape"), "\(description)")
        }
        // Each layer joins the previous result with itself.
        var doubled = [layer(fill, extents(2, 2), to: "b0")]
        for step in 1...40 {
            let inputs = text(1, "layer") + text(2, "b\(step - 1)") + text(2, "b\(step - 1)")
            doubled.append(inputs + text(3, step == 40 ? "y" : "b\(step)") + field(980, []))
        }
        #expect(!Self.isTranslated(model(doubled)))
    }
}
