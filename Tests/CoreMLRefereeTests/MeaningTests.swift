import CoreMLReferee
import Testing

/// The meaning of small files, with answers calculated by hand; and the rows of which the format says nothing.
@Suite struct MeaningTests {
    @Test("a missing number takes the branch that the node names", arguments: [(true, 1.0), (false, 2.0)])
    func missingNumber(_ missingGoesToTrue: Bool, _ expected: Double) throws {
        let referee = try CoreMLReferee(
            HandMadeFile.tree([(0, 0, 1, 2), (1, 6, 0, 0), (2, 6, 0, 0)], missingGoesToTrue: missingGoesToTrue))
        #expect(try referee(.nan)["y"] == .number(Number(expected)))
        #expect(try referee(0)["y"] == .number(Number(1)))
        #expect(try referee(.leastNonzeroMagnitude)["y"] == .number(Number(2)))
    }

    @Test("branches that form a cycle give a reason, and a tree without a root too")
    func cycles() throws {
        let referee = try CoreMLReferee(HandMadeFile.tree([(0, 0, 1, 2), (1, 0, 1, 2), (2, 6, 0, 0)]))
        #expect(throws: RowProblem.unjudged("the branches of a tree form a cycle")) { try referee(-1) }
        #expect(try referee(1)["y"] == .number(Number(2)))
        #expect(throws: ImpossibleJudgment.self) { try CoreMLReferee(HandMadeFile.tree([(0, 0, 0, 1), (1, 6, 0, 0)])) }
        #expect(throws: ImpossibleJudgment.self) { try CoreMLReferee(HandMadeFile.tree([(0, 0, 1, 2), (1, 6, 0, 0)])) }
    }

    @Test("neighbors at equal distances are judged only if their classes do not matter")
    func tiesOfNeighbors() throws {
        let one = try CoreMLReferee(HandMadeFile.neighbors([0, 2, 8], count: 1))
        #expect(throws: RowProblem.unjudged("neighbors of different classes have the same distance")) { try one(1) }
        #expect(try one(0.9)["class"] == .label([Key("a")]))
        let two = try CoreMLReferee(HandMadeFile.neighbors([0, 2, 8], count: 2))
        // Either of two classes with a vote each.
        #expect(try two(1)["class"] == .label([Key("a"), Key("b")]))
    }

    @Test("neighbors weigh by the square of their distance, and in the other reading by the distance itself")
    func weightsOfNeighbors() throws {
        let square = try CoreMLReferee(HandMadeFile.neighbors([0, 2], count: 2, weighsByDistance: true))
        let distance = try #require(square.otherReading)
        // Distances 0.5 and 1.5: weights 4 and 4/9, or 2 and 2/3.
        for (referee, expected) in [(square, [0.9, 0.1]), (distance, [0.75, 0.25])] {
            guard case .dictionary(let keys, let shares)? = try referee(0.5)["p"] else {
                Issue.record("no probabilities")
                continue
            }
            #expect(keys == [Key("a"), Key("b")])
            #expect(zip(shares, expected).allSatisfy { abs($0.value - $1) < 1e-12 })
            // A sample at the number itself decides.
            #expect(try referee(2)["class"] == .label([Key("b")]))
        }
        #expect(distance.otherReading == nil)
        #expect(try CoreMLReferee(HandMadeFile.neighbors([0, 2], count: 2)).otherReading == nil)
    }

    @Test("categories that Swift takes as equal strings are different if their bytes are")
    func canonicalEquivalence() throws {
        let composed = "\u{E9}", decomposed = "e\u{301}"
        let referee = try CoreMLReferee(
            HandMadeFile.model(
                inputs: [("x", HandMadeFile.string)], outputs: [("y", HandMadeFile.array([2]))], type: 600,
                HandMadeFile.field(1, HandMadeFile.field(1, composed) + HandMadeFile.field(1, decomposed))))
        #expect(try referee.evaluate(["x": RefereeValue(composed)])["y"] == .array([Number(1), Number(0)]))
        #expect(try referee.evaluate(["x": RefereeValue(decomposed)])["y"] == .array([Number(0), Number(1)]))
    }

    @Test("a number that rounding put on a threshold is not judged")
    func roundedNumbers() throws {
        func inner(_ name: String, _ output: String, _ type: Int, _ body: [UInt8]) -> [UInt8] {
            HandMadeFile.model(
                inputs: [(name, HandMadeFile.double)], outputs: [(output, HandMadeFile.double)], predicted: output,
                type: type, body)
        }
        // A scaler that subtracts 0.3, before a threshold of 0.
        let scaler = inner("x", "s", 604, HandMadeFile.field(1, -0.3))
        let trees =
            HandMadeFile.field(1, HandMadeFile.field(2, 0) + HandMadeFile.field(12, 1) + HandMadeFile.field(13, 2))
            + HandMadeFile.field(1, HandMadeFile.field(2, 1) + HandMadeFile.field(3, 6))
            + HandMadeFile.field(1, HandMadeFile.field(2, 2) + HandMadeFile.field(3, 6))
        let tree = inner("s", "y", 302, HandMadeFile.field(1, trees + HandMadeFile.field(2, 1)))
        let referee = try CoreMLReferee(
            inner("x", "y", 202, HandMadeFile.field(1, scaler) + HandMadeFile.field(1, tree)))
        #expect(throws: RowProblem.self) { try referee(0.3) }
        #expect(throws: RowProblem.self) { try referee(0.3.nextUp) }
        #expect(try referee(0.3 + 1e-12)["y"] == .number(Number(0)))
    }

    @Test("a small file with large outputs in each of its models is not evaluated to the end")
    func manyNumbers() throws {
        func step(_ index: Int) -> [UInt8] {
            HandMadeFile.model(
                inputs: [("x", HandMadeFile.array([1 << 16]))], outputs: [("s\(index)", HandMadeFile.array([]))],
                type: 604, HandMadeFile.field(1, 1.0))
        }
        let steps = (1...100).flatMap { HandMadeFile.field(1, step($0)) }
        let referee = try CoreMLReferee(
            HandMadeFile.model(
                inputs: [("x", HandMadeFile.array([1 << 16]))], outputs: [("s1", HandMadeFile.array([1 << 16]))],
                type: 202, steps))
        let row = RefereeValue.array([Number](repeating: Number(1), count: 1 << 16))
        #expect(throws: RowProblem.unjudged("the models of the file make too many numbers")) {
            try referee.evaluate(["x": row])
        }
    }

    @Test("inputs of absurd shapes and deep pipelines are refused with a reason")
    func limits() {
        for shape in [[1 << 40], [1 << 20, 1 << 20], [0], [-1]] {
            let file = HandMadeFile.model(
                inputs: [("x", HandMadeFile.array(shape))], outputs: [("y", HandMadeFile.array(shape))], type: 604, [])
            #expect(throws: ImpossibleJudgment.self, "\(shape)") { try CoreMLReferee(file) }
        }
        // Each is allowed, but not all together.
        let many = (0..<600).map { ("x\($0)", HandMadeFile.array([1 << 10])) }
        let wide = HandMadeFile.model(
            inputs: many, outputs: [("y", HandMadeFile.array([1 << 10]))], type: 602,
            HandMadeFile.field(1, HandMadeFile.field(1, "x0") + HandMadeFile.field(2, 1 << 10)))
        #expect(throws: ImpossibleJudgment("the inputs have more than 262144 numbers")) { try CoreMLReferee(wide) }
        var file = HandMadeFile.tree([(0, 6, 0, 0)])
        for depth in 1...20 {
            file = HandMadeFile.model(
                inputs: [("x", HandMadeFile.double)], outputs: [("y", HandMadeFile.double)], type: 202,
                HandMadeFile.field(1, file))
            #expect((try? CoreMLReferee(file)) != nil || depth > 16)
        }
        #expect(throws: ImpossibleJudgment.self) { try CoreMLReferee(file) }
    }
}
