import FileFormats
import Foundation
import Inference
import TestSupport
import Testing

/// Files of NumPy and safetensors, valid and damaged.
@Suite struct HostileArraysTests {
    /// The bytes that numpy.save writes for numpy.arange(6, dtype=float32).reshape(2, 3).
    private static func npy(_ descriptor: String = "<f4", shape: String = "(2, 3)", body: [UInt8]? = nil) -> [UInt8] {
        let header =
            "{'descr': '\(descriptor)', 'fortran_order': False, 'shape': \(shape), }".padding(
                toLength: 117, withPad: " ", startingAt: 0) + "\n"
        let floats = (0..<6).flatMap { value in withUnsafeBytes(of: Float(value)) { [UInt8]($0) } }
        return [0x93] + Array("NUMPY".utf8) + [1, 0, UInt8(header.utf8.count), 0] + Array(header.utf8)
            + (body ?? floats)
    }

    private static func safetensors() -> [UInt8] {
        let header =
            #"{"__metadata__":{"labels":"cat\ndog","scale":"20"},"classes":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}"#
        let floats = (0..<6).flatMap { value in withUnsafeBytes(of: Float(value)) { [UInt8]($0) } }
        return withUnsafeBytes(of: UInt64(header.utf8.count)) { [UInt8]($0) } + Array(header.utf8) + floats
    }

    @Test("NPY files of float32, uint8 and float16 are read with their shapes and values")
    func whatNumPySaves() throws {
        let array = try NPYFile(Self.npy())
        #expect(array.shape == [2, 3] && array.floats(in: Self.npy()) == [0, 1, 2, 3, 4, 5])
        let bytes = Self.npy("|u1", body: [0, 1, 2, 3, 4, 255])
        #expect(try NPYFile(bytes).floats(in: bytes) == [0, 1, 2, 3, 4, 255])
        let halves = Self.npy("<f2", shape: "(2,)", body: [0, 0x3C, 0, 0xC0])
        #expect(try NPYFile(halves).shape == [2] && NPYFile(halves).floats(in: halves) == [1, -2])
    }

    @Test(
        "an NPY file that cannot be read is refused with the reason",
        arguments: [
            (npy(">f4"), "\">f4\": expected <f2"), (npy(shape: "(2, 4)"), "does not match its shape [2, 4]"),
            (npy(shape: "(-2, -3)"), "invalid shape"), (npy(shape: "(9223372036854775807, 3)"), "invalid shape"),
            (npy(shape: "(2, x)"), "invalid shape"), (Array(npy().prefix(40)), "ends inside its header"),
            (Array("PK".utf8), "is not an NPY file"),
        ])
    func whatIsNotReadIsSaid(_ bytes: [UInt8], _ words: String) {
        let problem = #expect(throws: FormatError.self) { try NPYFile(bytes) }
        #expect(problem?.reason.contains(words) == true, "\(problem?.reason ?? "")")
    }

    @Test("class vectors are read from a safetensors file with their labels and scale")
    func classVectors() throws {
        let matrix = try SafeTensorsFile(Self.safetensors()).classVectors(in: Self.safetensors())
        #expect(matrix.rows == 2 && matrix.columns == 3 && matrix.values == [0, 1, 2, 3, 4, 5])
        #expect(matrix.labels == ["cat", "dog"] && matrix.scale == 20)
    }

    /// Seeded mutations: no crash. scripts/fuzz facts runs 100,000 of each under AddressSanitizer.
    @Test(
        "a damaged NPY or safetensors file is refused or has as many numbers as its shape",
        arguments: ["npy", "safetensors"])
    func mutations(_ format: String) {
        let environment = ProcessInfo.processInfo.environment
        let runs = environment["OCELLI_FUZZ_RUNS"].flatMap(Int.init) ?? 2_000
        let seed = environment["OCELLI_FUZZ_SEED"].flatMap(UInt64.init) ?? 2_026
        var random = SplitMix(seed: seed)
        let original = format == "npy" ? Self.npy() : Self.safetensors()
        for run in 0..<runs {
            var bytes = original
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 2: bytes.removeLast(min(bytes.count - 1, Int.random(in: 1...32, using: &random)))
                case 3: bytes.removeSubrange(place..<max(place, min(bytes.count - 1, place + 4)))
                default:
                    bytes.insert(
                        contentsOf: bytes[place...].prefix(8), at: Int.random(in: 0..<bytes.count, using: &random))
                }
            }
            let count: Int, wanted: Int
            switch format {
            case "npy":
                guard let array = try? NPYFile(bytes) else { continue }
                (count, wanted) = (array.floats(in: bytes).count, array.shape.reduce(1, *))
            default:
                guard let matrix = try? SafeTensorsFile(bytes).classVectors(in: bytes) else { continue }
                (count, wanted) = (matrix.values.count, matrix.rows * matrix.columns)
            }
            #expect(count == wanted, "seed \(seed), run \(run)")
        }
    }
}
