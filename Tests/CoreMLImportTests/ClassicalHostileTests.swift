import CoreMLImport
import Foundation
import TestSupport
import Testing

/// Damaged files of classical models: each gives an error or a model, never a trap. Also run under AddressSanitizer
/// (`make test-asan`).
@Suite struct ClassicalHostileTests {
    /// One file of each family.
    static let names = [
        "glm_classifier_strings", "random_forest_classifier_3", "svc_rbf_3", "knn_distance", "pipeline_nested",
        "suppression",
        "one_hot_scikit",
    ]

    /// Reads a file and, if it is still a model, evaluates it on zeros.
    private func use(_ bytes: [UInt8]) {
        do throws(Problem) {
            let specification = try ModelSpecification(Bytes(bytes))
            do throws(ImportError) {
                let steps = try ModelSteps(specification)
                var inputs: FeatureTable = [:]
                for input in specification.description.inputs {
                    switch input.type {
                    case .double: inputs[input.name] = .double(0)
                    case .int64: inputs[input.name] = .int64(0)
                    case .string: inputs[input.name] = .string("south")
                    case .dictionary:
                        inputs[input.name] = .dictionary(CategoryNumbers(keys: [.string("a")], values: [1]))
                    case .multiArray(let array):
                        let count = array.extents.reduce(1) { min(4_096, $0 * min(4_096, max(1, $1 ?? 1))) }
                        inputs[input.name] = .array(NumberArray([Double](repeating: 0, count: count)))
                    default: break
                    }
                }
                var run = StepRun(steps, inputs: inputs)
                _ = try? run.advance()
            } catch {
                #expect(!error.problems.isEmpty)
            }
        } catch {
            #expect(!error.message.isEmpty)
        }
    }

    @Test("a classical model cut at any byte is read or refused without a crash", arguments: names)
    func cutAtEveryByte(_ name: String) throws {
        let bytes = try ClassicalFixtureTests.bytes(name)
        for length in bytes.indices { use(Array(bytes[..<length])) }
    }

    @Test("a classical model with a flipped bit is read or refused without a crash", arguments: names)
    func everySeventhBitFlipped(_ name: String) throws {
        var bytes = try ClassicalFixtureTests.bytes(name)
        for bit in stride(from: 0, to: bytes.count * 8, by: 7) {
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            use(bytes)
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
        }
    }

    @Test("randomly damaged classical models are read or refused without a crash")
    func mutations() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SplitMix(seed: seed)
        let files = try Self.names.map(ClassicalFixtureTests.bytes)
        for _ in 0..<4_000 {
            var bytes = files[Int(random.next() % UInt64(files.count))]
            for _ in 0..<(1 + random.next() % 4) {
                let place = Int(random.next() % UInt64(bytes.count))
                switch random.next() % 3 {
                case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes.remove(at: place)
                default: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
                }
                if bytes.isEmpty { bytes = [0] }
            }
            use(bytes)
        }
    }

    // MARK: Trees

    /// A regressor with the nodes: tree, node, behavior (6: leaf, with the node's number as value), true child, false
    /// child.
    private func trees(_ nodes: [(Int, Int, Int, Int, Int)], missingGoesToTrue: Bool = false) -> [UInt8] {
        func varint(_ value: Int) -> [UInt8] {
            var value = value, bytes: [UInt8] = []
            while value >= 128 {
                bytes.append(UInt8(value & 127) | 128)
                value >>= 7
            }
            return bytes + [UInt8(value)]
        }
        func field(_ number: Int, _ value: Int) -> [UInt8] { varint(number << 3) + varint(value) }
        func field(_ number: Int, _ bytes: [UInt8]) -> [UInt8] { varint(number << 3 | 2) + varint(bytes.count) + bytes }
        let list = nodes.flatMap { node -> [UInt8] in
            let numbers = field(1, node.0) + field(2, node.1) + field(3, node.2)
            let value = withUnsafeBytes(of: Double(node.1).bitPattern.littleEndian) { varint(2 << 3 | 1) + $0 }
            let rest = node.2 == 6 ? field(20, value) : field(14, missingGoesToTrue ? 1 : 0)
            return field(1, numbers + field(12, node.3) + field(13, node.4) + rest)
        }
        func feature(_ name: String) -> [UInt8] { field(1, Array(name.utf8)) + field(3, field(2, [])) }
        let description = field(1, feature("x")) + field(10, feature("y"))
        return field(1, 1) + field(2, description) + field(302, field(1, list + field(2, 1)))
    }

    @Test("malformed decision trees are refused with their location and the reason")
    func malformedTreesAreRefusedWithThePlace() throws {
        for (nodes, words) in [
            ([(0, 0, 0, 1, 2), (0, 1, 0, 0, 2), (0, 2, 6, 0, 0)], "child of two nodes"),
            ([(0, 0, 0, 0, 1), (0, 1, 6, 0, 0)], "form a cycle"),
            ([(0, 0, 0, 1, 2), (0, 1, 6, 0, 0)], "false child 2 is not in the tree"),
            ([(0, 0, 6, 0, 0), (0, 0, 6, 0, 0)], "is defined twice"),
            ([(0, 0, 6, 0, 0), (0, 1, 6, 0, 0)], "two roots"), ([(0, 0, 9, 0, 0)], "unknown behavior 9"),
            ([], "no trees"),
        ] {
            let specification = try ModelSpecification(Bytes(trees(nodes)))
            do throws(ImportError) {
                _ = try ModelSteps(specification)
                Issue.record("\(nodes) is taken for a tree")
            } catch {
                #expect(error.description.contains(words), "\(error.description), expected \(words)")
                #expect(error.description.hasPrefix("treeEnsembleRegressor"))
            }
        }
    }

    @Test(
        "a missing value (NaN) takes the branch that the tree node names, a number its own branch",
        arguments: [(0, false, 1), (0.5, true, 2), (.nan, true, 1), (.nan, false, 2)] as [(Double, Bool, Double)])
    func aMissingValueGoesWhereItsNodeSays(_ value: Double, _ missingGoesToTrue: Bool, _ expected: Double) throws {
        let bytes = trees([(0, 0, 0, 1, 2), (0, 1, 6, 0, 0), (0, 2, 6, 0, 0)], missingGoesToTrue: missingGoesToTrue)
        var run = StepRun(try ModelSteps(try ModelSpecification(Bytes(bytes))), inputs: ["x": .double(value)])
        guard case .done = try run.advance(), case .double(let found)? = run.table["y"] else {
            Issue.record("no number")
            return
        }
        #expect(found == expected)
    }
}
