import CoreMLImport
import Foundation
import Testing

/// ML Programs with one defect each (Tests/FixtureMakers/coreml_fixtures/program_refusals.py).
@Suite struct ProgramRefusalTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures/coreml/programs_refused")

    private static func bytes(_ name: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: folder.appendingPathComponent(name)))
    }

    /// The problems of translating a file, one on each line; `nil` if it is translated.
    private static func problems(_ file: [UInt8], weights: [UInt8]?) -> String? {
        do {
            let model = try ModelSpecification(Bytes(file))
            let files = weights.map { ["weights/weight.bin": Bytes($0)] } ?? [:]
            _ = try ProgramTranslator(model.description, files: WeightFiles(files)).translate(model.reader)
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test("each damaged ML Program is refused with the problem that problems.json has for the file")
    func saysWhatIsWrongAndWhere() throws {
        let data = try Data(contentsOf: Self.folder.appendingPathComponent("problems.json"))
        let expected = try JSONDecoder().decode([String: String].self, from: data)
        let weights = try Self.bytes("weight.bin")
        #expect(expected.count >= 25)
        for (name, problem) in expected.sorted(by: { $0.key < $1.key }) {
            let found = try Self.problems(Self.bytes("\(name).mlmodel"), weights: weights)
            #expect(found?.contains(problem) == true, "\(name): \(found ?? "no problem")")
        }
    }

    @Test("an undamaged ML Program is translated")
    func aSoundProgramIsTranslated() throws {
        #expect(try Self.problems(Self.bytes("sound.mlmodel"), weights: Self.bytes("weight.bin")) == nil)
    }

    @Test("an ML Program without its weights is refused with advice to copy the whole package")
    func aProgramWithoutItsWeightsIsRefused() throws {
        let found = try Self.problems(Self.bytes("sound.mlmodel"), weights: nil)
        #expect(found?.contains("copy or download the whole .mlpackage folder") == true, "\(found ?? "no problem")")
    }

    /// All unknown operations are reported together, with their counts and the reasons.
    @Test("all unknown operations of an ML Program are reported with their counts")
    func unknownOperationsAreCounted() throws {
        let found = try #require(try Self.problems(Self.bytes("unknown_operations.mlmodel"), weights: nil))
        for type in [
            "\"warp\" (occurs 2 times)", "\"random_normal\" (occurs once)", "\"custom_layer\"", "\"read_state\"",
        ] {
            #expect(found.contains(type), "\(found)")
        }
        #expect(found.split(separator: "\n").count == 4)
    }

    @Test("cut or changed ML Programs do not crash the importer, and cut weights are a problem")
    func filesThatAreCutOffOrChangedNeverCrash() throws {
        let (file, weights) = (try Self.bytes("sound.mlmodel"), try Self.bytes("weight.bin"))
        for length in file.indices { _ = Self.problems(Array(file[..<length]), weights: weights) }
        for length in weights.indices {
            #expect(Self.problems(file, weights: Array(weights[..<length])) != nil, "\(length) bytes of weights")
        }
        for index in stride(from: 0, to: file.count, by: 7) {
            for bit in 0..<8 {
                var changed = file
                changed[index] ^= 1 << UInt8(bit)
                _ = Self.problems(changed, weights: weights)
            }
        }
    }
}
