import ConfinedDecoding
import Foundation
import ImagePipeline
import Synchronization
import TestSupport
import Testing

/// Damaged pictures give pixels or an error, and never affect the requesting process, which here is this one instead of
/// the daemon.
@Suite(.enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
struct PictureMutationTests {
    private static let decoder = Probe.decoder(seconds: 10)

    /// The number of mutations of a format; `scripts/fuzz decode` sets a large one.
    private static let count =
        ProcessInfo.processInfo.environment["FUZZ_PICTURES"].flatMap { Int($0) } ?? LongTests.times(40, long: 1_000)
    /// The number of pictures at the same time. One of each two waits for messages.
    private static let atATime = 2 * ProcessInfo.processInfo.activeProcessorCount

    /// Without JPEG, so that this process checks the items of HEIC and AVIF, as the daemon does.
    private static let limits: ImageLimits = {
        var limits = ImageLimits(maxPixels: 4_000_000)
        limits.formats.remove(.jpeg)
        return limits
    }()

    /// The results of all mutations.
    private struct Tally: Sendable {
        var decoded = 0
        var refusals: [String: Int] = [:]
        var faults: [String] = []
        var longest = Duration.zero

        /// Counts a result. An error of the picture is a refusal; any other error has affected this process.
        mutating func add(_ result: Result<Void, any Error>, _ time: Duration, round: Int) {
            longest = max(longest, time)
            do {
                try result.get()
                decoded += 1
            } catch ImageError.corrupt(let reason) {
                refusals[reason.prefix(60).filter { !$0.isNumber }, default: 0] += 1
            } catch let error as ImageError {
                switch error {
                case .sideTooLong, .tooLarge, .outOfMemory, .turnedOff: refusals[error.label, default: 0] += 1
                default: faults.append("round \(round): \(error)")
                }
            } catch {
                faults.append("round \(round): \(error)")
            }
        }
    }

    @Test(
        "a damaged picture is decoded or refused by its separate process",
        arguments: ImageFormat.allCases.filter(\.isConfined))
    func damagedPictureIsDecodedOrRefused(_ format: ImageFormat) throws {
        if let reason = try Self.decoder.reasonAgainst(format) {
            print("skipped \(format.title): \(reason)")
            return
        }
        let seed = SplitMix.seed(for: "damagedPictureIsDecodedOrRefused(\(format.rawValue))")
        let originals = try PictureTests.pictures.filter { $0.format == format.rawValue }
            .map { try PictureTests.bytes($0.file) }
        try #require(!originals.isEmpty)
        let helpers = try Probe.helpers(), descriptors = try Probe.count("/proc/self/fd")
        let tally = Mutex(Tally())
        DispatchQueue.concurrentPerform(iterations: Self.atATime) { first in
            for round in stride(from: first, to: Self.count, by: Self.atATime) {
                // Each round has its own seed, in whichever thread it runs.
                var random = SplitMix(seed: seed &+ UInt64(round))
                let bytes = Self.damaged(originals[Int.random(in: originals.indices, using: &random)], &random)
                let begun = ContinuousClock.now
                let result = Result { try Self.prepare(bytes, format) }
                let time = ContinuousClock.now - begun
                tally.withLock { $0.add(result, time, round: round) }
            }
        }
        let all = tally.withLock { $0 }
        print("\(format.title): \(all.decoded) of \(Self.count) decoded; the longest took \(all.longest)")
        for (reason, count) in all.refusals.sorted(by: { $0.value > $1.value }).prefix(30) {
            print("  \(count): \(reason)")
        }
        #expect(all.faults.isEmpty, "\(all.faults.count): \(all.faults.prefix(5))")
        #expect(all.decoded + all.refusals.values.reduce(0, +) == Self.count)
        #expect(!all.refusals.isEmpty)
        // A replaced helper may just be ending.
        #expect(eventually { (try? Probe.helpers().count) == helpers.count })
        // The threads of this process may have opened some.
        #expect(try Probe.count("/proc/self/fd") < descriptors + 16)
    }

    /// Prepares a picture as the daemon does, up to its tensor.
    private static func prepare(_ bytes: [UInt8], _ format: ImageFormat) throws {
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 8, height: 8), limits: limits)
        try bytes.withUnsafeBytes { try pipeline.check(ImagePipeline.format(of: $0) ?? format, $0) }
        let image = try decoder.decode(bytes, format: format)
        var tensor = [UInt8](repeating: 0, count: pipeline.spec.byteCount)
        _ = try tensor.withUnsafeMutableBytes { try pipeline.prepare(image, into: $0) }
    }

    private static func damaged(_ original: [UInt8], _ random: inout SplitMix) -> [UInt8] {
        if random.chance(20) { return Array(original.prefix(Int.random(in: 1..<original.count, using: &random))) }
        var bytes = original
        // Headers matter most, so half of the changes are near the start.
        let maximum = random.chance(50) ? min(300, bytes.count) : bytes.count
        for _ in 0..<(random.chance(50) ? 1 : Int.random(in: 2...8, using: &random)) {
            bytes[Int.random(in: 0..<maximum, using: &random)] =
                [0, 1, 0x7F, 0x80, 0xFF, .random(in: 0...255, using: &random)]
                .randomElement(using: &random) ?? 0
        }
        return bytes
    }
}
