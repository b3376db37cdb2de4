import Foundation
import TestSupport
import Testing

/// After a kill, the files of a process that teaches contain all acknowledged steps, and possibly the next one.
@Suite struct KillTests {
    static let probe = Daemon.binary.deletingLastPathComponent().appendingPathComponent("TeachingProbe")

    /// The expected states come from a journal that is never compacted.
    @Test(
        "a kill at any instant leaves the acknowledged state or the next state on disk",
        arguments: [
            "run", "run-compacting", "run-named-compacting", "run-normal-compacting", "run-named-normal",
            "run-named-normal-compacting", "run-normal-patches", "run-normal-patches-compacting",
        ])
    func killsAtAnyInstantLeaveTheAcknowledgedStateOrTheNextOne(_ mode: String) throws {
        let steps = 400, seed = SplitMix.seed(for: "killsAtAnyInstantLeaveTheAcknowledgedStateOrTheNextOne(\(mode))")
        let reference = TemporaryFolder()
        let whole = try Shell.run(
            Self.probe.path, [mode.replacing("-compacting", with: ""), reference.path, "\(seed)", "\(steps)"])
        let states = whole.text.split(separator: "\n").map(String.init)
        try #require(states.count == steps, "\(whole.errors)")
        var random = SplitMix(seed: seed)
        var interrupted = 0
        for _ in 0..<LongTests.times(15, long: 200) {
            let folder = TemporaryFolder()
            let process = Process(), output = Pipe()
            process.executableURL = Self.probe
            process.arguments = [mode, folder.path, "\(seed)", "\(steps)"]
            process.standardOutput = output
            try process.run()
            // The kill comes after a random number of acknowledgements and some microseconds, so between any two
            // instructions.
            let wanted = Int.random(in: 1..<120, using: &random)
            var read = Data()
            while read.count(where: { $0 == 10 }) < wanted {
                let more = output.fileHandleForReading.availableData
                if more.isEmpty { break }
                read.append(more)
            }
            usleep(UInt32.random(in: 0..<3_000, using: &random))
            kill(process.processIdentifier, SIGKILL)
            read.append(output.fileHandleForReading.readDataToEndOfFile())
            process.waitUntilExit()
            let lines = String(decoding: read, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            let acknowledged = lines.count - 1
            let found = try Shell.run(Self.probe.path, ["state", folder.path])
            #expect(found.status == 0, "\(found.errors)")
            let state = found.text.trimmingCharacters(in: .newlines)
            let allowed = states[max(0, acknowledged - 1)...min(acknowledged, steps - 1)]
            #expect(allowed.contains(state) || (acknowledged == 0 && state == "none"))
            if acknowledged < steps { interrupted += 1 }
            let names = folder.names
            #expect(!names.contains { $0.contains(".new") || $0.contains(".unfinished") })
            // Only the pictures of the examples exist.
            let pictures = names.filter { $0.hasPrefix("parts/pictures/") }.map { String($0.suffix(64)) }
            #expect(pictures.allSatisfy { state.contains($0) })
        }
        #expect(interrupted > 0)
    }
}
