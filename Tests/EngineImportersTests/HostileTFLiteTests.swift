import EngineImporters
import Foundation
import TestSupport
import Testing

/// Damaged files: every answer is right but a crash.
@Suite struct HostileTFLiteTests {
    /// Files of the fixtures, and small ones with several subgraphs, equal names and computed shapes.
    private static func files() throws -> [[UInt8]] {
        let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures")
        var files: [[UInt8]] = []
        for name in [
            "integer-weights/mobilenet.tflite", "integer-weights/padded.tflite", "observations/ssd_few/model.tflite",
        ] {
            files.append([UInt8](try Data(contentsOf: fixtures.appendingPathComponent(name))))
        }
        for isNamed in [true, false] {
            var tiny = TinyTFLite()
            tiny.addSignature()
            tiny.main.inputs = [tiny.main.tensor(name: "x")]
            tiny.others = [TinyTFLite.Subgraph()]
            var last = 0
            for _ in 0..<6 {
                let shape = tiny.chain(.shape, [last], .int32)
                let integers = tiny.chain(.quantize, [last], .int8, name: isNamed ? nil : "same", scale: 0.5)
                let floats = tiny.chain(.dequantize, [integers], name: isNamed ? nil : "same")
                last = tiny.chain(.reshape, [floats, shape], name: isNamed ? nil : "same")
                _ = tiny.chain(.cast, [last], .int32)
            }
            tiny.main.outputs = [last, last - 1]
            files.append(try tiny.bytes())
        }
        return files
    }

    /// Reads a file in all ways; true if it can be cut.
    private static func judge(_ file: [UInt8], length: Int) -> Bool {
        _ = try? LiteRTFile.bytes(of: file)
        _ = try? LiteRTBlindSpot.all(in: file)
        _ = try? TFLiteArithmetic(file)
        guard let slices = try? TFLiteSlices(file, length: length) else { return false }
        for slice in slices.slices {
            let bytes = slice.bytes(of: file)
            #expect(bytes.count >= file.count && bytes.count < file.count + (1 << 20))
            _ = try? LiteRTFile.bytes(of: bytes)
            // Parts of damaged files may be damaged, but not without an answer.
            _ = try? TFLiteSlices(bytes, length: 1)
        }
        return true
    }

    @Test("damaged files are cut or refused, and never crash")
    func damagedFiles() throws {
        var random = SplitMix(seed: SplitMix.seed(for: "damagedFiles"))
        let files = try Self.files()
        var cut = 0
        let count = 1_500
        for _ in 0..<count {
            var file = files.randomElement(using: &random) ?? []
            if random.chance(10) { file.removeLast(Int.random(in: 0..<file.count, using: &random)) }
            for _ in 0..<Int.random(in: 1...6, using: &random) where !file.isEmpty {
                let place = Int.random(in: 0..<file.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: file[place] = UInt8.random(in: 0...255, using: &random)
                case 1: file[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 2: file[place] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random) ?? 0
                default:
                    // Copies a number or an offset from another place.
                    let other = Int.random(in: 0..<file.count, using: &random)
                    for index in 0..<4 where place + index < file.count && other + index < file.count {
                        file[place + index] = file[other + index]
                    }
                }
            }
            if Self.judge(file, length: Int.random(in: 1...9, using: &random)) { cut += 1 }
        }
        #expect(cut > count / 10 && cut < count, "\(cut) of \(count) files can be cut")
    }

    @Test("every truncation of a file is refused or cut without a crash")
    func truncatedFiles() throws {
        let file = try Self.files()[3]
        #expect(Self.judge(file, length: 2))
        for count in stride(from: 0, to: file.count, by: 3) { _ = Self.judge(Array(file[..<count]), length: 2) }
    }
}
