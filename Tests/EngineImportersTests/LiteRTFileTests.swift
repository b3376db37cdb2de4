import EngineImporters
import FileFormats
import TestSupport
import Testing

/// Files that LiteRT may be given. That it crashes on the refused ones, or refuses them, was seen with LiteRT 2.3.
@Suite struct LiteRTFileTests {
    /// Two inputs and two outputs.
    private static func model(
        inputs: [String?] = ["a", "b"], outputs: [String?] = ["c", "d"], change: (inout TinyTFLite) -> Void = { _ in }
    ) throws -> [UInt8] {
        var tiny = TinyTFLite()
        let all = (inputs + outputs).map { name in
            let tensor = tiny.main.tensor(name: name)
            if name == nil { tiny.main.tensors[tensor][3] = nil }
            return tensor
        }
        tiny.add(.add, [all[0], all[1]], [all[2]])
        tiny.add(.mul, [all[0], all[1]], [all[3]])
        (tiny.main.inputs, tiny.main.outputs) = (Array(all[..<2]), Array(all[2...]))
        change(&tiny)
        return try tiny.bytes()
    }

    private static func refusal(_ file: [UInt8]) -> String? {
        do throws(JudgingError) {
            _ = try LiteRTFile.bytes(of: file)
            return nil
        } catch {
            return error.reason
        }
    }

    @Test("signatures are removed, and nothing else changes")
    func signaturesAreRemoved() throws {
        let file = try Self.model { $0.addSignature() }
        let bytes = try LiteRTFile.bytes(of: file)
        #expect(try ReadTFLite(file).signatures == 1)
        #expect(try ReadTFLite(bytes).signatures == 0)
        #expect(bytes.count == file.count && zip(bytes, file).count { $0 != $1 } == 1)
        let without = try Self.model()
        #expect(try LiteRTFile.bytes(of: without) == without)
    }

    @Test("files without a subgraph are refused")
    func filesWithoutSubgraphsAreRefused() throws {
        #expect(Self.refusal(try Self.model { $0.fields[2] = .offset(.vector([])) }) == "it has no subgraph")
        let missing = try FlatBufferFront.writing(
            .table([0: .number(UInt32(3))]), identifier: "TFL3", before: [], limit: 1 << 10)
        #expect(Self.refusal(missing) == "it has no subgraph")
        #expect(Self.refusal([1, 2, 3]) == "it has 3 bytes, too few for a FlatBuffer")
    }

    @Test(
        "two inputs or two outputs with the same name are refused",
        arguments: [
            (["a", "a"], ["c", "d"], "two of its inputs are named \"a\""),
            (["a", "b"], ["c", "c"], "two of its outputs are named \"c\""),
            // LiteRT reads C strings.
            (["a\0x", "a\0y"], ["c", "d"], "two of its inputs are named \"a\""),
            (["a", "b"], ["a", "b"], nil),
            (["", ""], ["", ""], nil), ([nil, nil], ["c", nil], nil),
        ] as [([String?], [String?], String?)])
    func equalNamesAreRefused(inputs: [String?], outputs: [String?], reason: String?) throws {
        #expect(Self.refusal(try Self.model(inputs: inputs, outputs: outputs)) == reason)
    }

    @Test("an output that is listed twice has no second name; LiteRT does not crash")
    func theSameTensorTwiceIsNotRefused() throws {
        #expect(Self.refusal(try Self.model { $0.main.outputs = [2, 2, 3] }) == nil)
    }

    @Test("inputs and outputs that do not exist are refused", arguments: [-1, 4, .max])
    func tensorsThatDoNotExistAreRefused(index: Int) throws {
        let file = try Self.model { $0.main.outputs = [index] }
        #expect(Self.refusal(file)?.contains("does not exist") == true)
    }

    @Test("files that keep state are refused with the name of the operator")
    func stateIsRefused() throws {
        let state = "keeps state between runs, which neither engine supports"
        for (code, name) in [(TinyTFLite.Code.lstm, "UNIDIRECTIONAL_SEQUENCE_LSTM"), (.svdf, "SVDF"), (.add, "ADD")] {
            let file = try Self.model { tiny in
                let variable = tiny.main.tensor()
                tiny.main.tensors[variable][5] = .number(UInt8(1))
                tiny.add(.add, [0, 1], [tiny.main.tensor()])
                tiny.add(code, [0, variable], [tiny.main.tensor()])
            }
            #expect(Self.refusal(file) == "its operator \(name) \(state)")
        }
        let unused = try Self.model { tiny in
            tiny.others.append(TinyTFLite.Subgraph())
            let variable = tiny.others[0].tensor()
            tiny.others[0].tensors[variable][5] = .number(UInt8(1))
        }
        #expect(Self.refusal(unused) == "its tensor 0 \(state)")
    }

    @Test("tensors of nine axes and weights in other files are refused")
    func otherFormsAreRefused() throws {
        let eight = try Self.model { _ = $0.main.tensor(.float, [1, 1, 1, 1, 1, 1, 1, 4]) }
        #expect(Self.refusal(eight) == nil)
        let nine = try Self.model { _ = $0.main.tensor(.float, [1, 1, 1, 1, 1, 1, 1, 1, 4]) }
        #expect(Self.refusal(nine) == "it has a tensor with 9 axes; LiteRT reads at most 8")
        let external = try Self.model { $0.fields[9] = .offset(.vector([.table([:])])) }
        #expect(Self.refusal(external) == "it has weights in other files, which LiteRT does not get")
    }
}
