import ConfinedDecoding
import Foundation
import ImagePipeline
import TestSupport
import Testing

/// Damaged pictures have pixels or an error, and never reach the process that asked.
@Suite(.enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
struct PictureMutationTests {
    private static let decoder = Probe.decoder(seconds: 10)

    /// Mutations of a format: `scripts/fuzz decode` asks for many.
    private static let count =
        ProcessInfo.processInfo.environment["FUZZ_PICTURES"].flatMap { Int($0) } ?? LongTests.times(40, long: 1_000)

    @Test(
        "a damaged picture is decoded or refused by its separate process",
        arguments: ImageFormat.allCases.filter(\.isConfined))
    func damagedPictureIsDecodedOrRefused(_ format: ImageFormat) throws {
        if let reason = try Self.decoder.reasonAgainst(format) {
            print("skipped \(format.title): \(reason)")
            return
        }
        var random = SplitMix(seed: SplitMix.seed(for: "damagedPictureIsDecodedOrRefused(\(format.rawValue))"))
        let originals = try PictureTests.pictures.filter { $0.format == format.rawValue }
            .map { try PictureTests.bytes($0.file) }
        var decoded = 0
        var refusals: [String: Int] = [:]
        for round in 0..<Self.count {
            let bytes = Self.damaged(try #require(originals.randomElement(using: &random)), &random)
            do throws(ImageError) {
                _ = try Self.decoder.decode(bytes, format: format)
                decoded += 1
            } catch {
                switch error {
                case .corrupt(let reason): refusals[String(reason.prefix(60)), default: 0] += 1
                case .sideTooLong, .tooLarge, .outOfMemory: refusals[error.label, default: 0] += 1
                default: Issue.record("round \(round): \(error)")
                }
            }
        }
        print("\(format.title): \(decoded) of \(Self.count) decoded")
        for (reason, count) in refusals.sorted(by: { $0.value > $1.value }).prefix(12) {
            print("  \(count): \(reason)")
        }
        #expect(decoded + refusals.values.reduce(0, +) == Self.count)
        #expect(!refusals.isEmpty)
    }

    private static func damaged(_ original: [UInt8], _ random: inout SplitMix) -> [UInt8] {
        if random.chance(20) { return Array(original.prefix(Int.random(in: 1..<original.count, using: &random))) }
        var bytes = original
        // Headers decide most: half of the changes are near the start.
        let most = random.chance(50) ? min(300, bytes.count) : bytes.count
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            bytes[Int.random(in: 0..<most, using: &random)] =
                [0, 1, 0x7F, 0x80, 0xFF, .random(in: 0...255, using: &random)]
                .randomElement(using: &random) ?? 0
        }
        return bytes
    }
}
