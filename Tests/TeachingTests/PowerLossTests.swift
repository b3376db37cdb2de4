import Foundation
import Teaching
import TestSupport
import Testing

/// After a power failure, the files contain all acknowledged changes, and possibly the next one.
///
/// A process changes taught models as the test says, with a library before the C library's that records its calls. From
/// the calls before any instant, ``RecordedDisk`` computes files that a power failure can leave. The expected contents
/// come from ``TaughtOracle``, which knows the changes only.
@Suite struct PowerLossTests {
    private static let source = SharedData.packageRoot.appendingPathComponent("Tests/TeachingTests/Fixtures/power.c")

    @Test(
        "a power failure at any instant leaves the acknowledged changes, names and normal examples included",
        arguments: ["script", "script-compacting"])
    func powerFailuresLeaveTheAcknowledgedChanges(_ mode: String) throws {
        var random = SplitMix(seed: SplitMix.seed(for: "powerFailuresLeaveTheAcknowledgedChanges(\(mode))"))
        let folder = TemporaryFolder(), place = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: place.path, withIntermediateDirectories: true)
        let library = place.path + "/power.so", log = place.path + "/log"
        let built = try Shell.run("clang", ["-shared", "-fPIC", "-o", library, Self.source.path, "-ldl"])
        try #require(built.status == 0, "\(built.errors)")

        var oracle = TaughtOracle(), states = [oracle.text], script = ""
        for step in 0..<LongTests.times(120, long: 600) {
            script += oracle.next(step, &random) + "\n"
            states.append(oracle.text)
        }
        let run = try Shell.run(
            KillTests.probe.path, [mode, folder.path],
            environment: ["LD_PRELOAD": library, "POWER_FOLDER": folder.path, "POWER_LOG": log],
            input: Data(script.utf8))
        try #require(run.text == String(repeating: "ok\n", count: states.count - 1), "\(run.text)\(run.errors)")
        #expect(try found(folder) == states[states.count - 1])

        let records = try DiskRecord.read([UInt8](Data(contentsOf: URL(fileURLWithPath: log))))
        var reverted = 0
        for _ in 0..<LongTests.times(30, long: 3_000) {
            let instant = Int.random(in: 0...records.count, using: &random)
            var disk = RecordedDisk(folder: folder.path)
            for record in records[..<instant] { disk.apply(record) }
            let after = TemporaryFolder()
            try disk.writeRemains(to: after.path, &random)
            let first = disk.acknowledged, last = min(first + 1, states.count - 1)
            let state = try found(after)
            #expect(states[first...last].contains(state), "after \(instant) calls and \(first) changes")
            // The journal continues, and reads as before.
            if state.contains("model faces") {
                let more = try Shell.run(
                    KillTests.probe.path, [mode, after.path], input: Data("teach\tfaces\tlate\tlater\t9999\n".utf8))
                #expect(more.text == "ok\n", "\(more.text)\(more.errors)")
                let lines = Set(try found(after).split(separator: "\n")).subtracting(state.split(separator: "\n"))
                #expect(lines.count == 2 && lines.contains { $0.hasSuffix(" late later") }, "\(lines)")
            }
            if disk.hasPending { reverted += 1 }
        }
        #expect(reverted > 0)
    }

    private func found(_ folder: TemporaryFolder) throws -> String {
        let result = try Shell.run(KillTests.probe.path, ["contents", folder.path])
        #expect(result.status == 0, "\(result.errors)")
        return result.text
    }
}

/// The taught models as the acknowledged changes leave them, and changes for them.
struct TaughtOracle {
    private struct Known {
        var label: String
        var name: String?
    }

    private struct Model {
        let isNormal: Bool
        var examples: [Int: Known] = [:]
        var serving = 0
        var next = 1

        mutating func makeVersion() {
            serving = examples.isEmpty ? 0 : next
            next += 1
        }
    }

    private var models: [String: Model] = [:]

    /// The models and examples as `TeachingProbe contents` writes them.
    var text: String {
        models.sorted { $0.key < $1.key }.map { name, model in
            let method = model.isNormal ? "normal 0.1" : "nearest_mean"
            let examples = model.examples.map { number, known in
                let id = Array("picture \(number)".utf8).withUnsafeBytes { ExampleID(of: $0) }
                let keeps = number % 2 == 0 ? "picture" : "-"
                return "\(id) \(number) \(keeps) \(known.label)" + (known.name.map { " \($0)" } ?? "")
            }
            let lines = ["model \(name) \(method) \(model.serving) \(model.next)"] + examples.sorted()
            return lines.joined(separator: "\n") + "\n"
        }.joined()
    }

    /// A change, as a line of the script.
    mutating func next(_ step: Int, _ random: inout SplitMix) -> String {
        let name = random.chance(50) ? "faces" : "parts"
        guard var model = models[name] else {
            models[name] = Model(isNormal: name == "parts")
            return "create\t\(name)\t\(name == "parts" ? "normal" : "nearest_mean")"
        }
        defer { if models[name] != nil { models[name] = model } }
        switch Int.random(in: 0..<20, using: &random) {
        case 0 where random.chance(20):
            models[name] = nil
            return "remove\t\(name)"
        case 1...3 where !model.examples.isEmpty:
            let number = model.examples.keys.sorted()[Int.random(in: 0..<model.examples.count, using: &random)]
            model.examples[number] = nil
            model.makeVersion()
            return "forget\t\(name)\t\(number)"
        case 4 where !model.examples.isEmpty && random.chance(50):
            let labels = Set(model.examples.values.map(\.label)).sorted()
            let label = labels[Int.random(in: 0..<labels.count, using: &random)]
            model.examples = model.examples.filter { $0.value.label != label }
            model.makeVersion()
            return "forget-class\t\(name)\t\(label)"
        case 5: return "evaluate\t\(name)"
        default: return teach(&model, name, step, &random)
        }
    }

    /// Teaches up to three pictures: new ones, known ones of another class, and known ones with another name.
    private func teach(_ model: inout Model, _ name: String, _ step: Int, _ random: inout SplitMix) -> String {
        var line = "teach\t\(name)", isChanged = false
        for index in 0...Int.random(in: 0..<3, using: &random) {
            let known = model.examples.keys.sorted()
            let number =
                !known.isEmpty && random.chance(50)
                ? known[Int.random(in: 0..<known.count, using: &random)] : step * 3 + index
            let label = model.isNormal ? "normal" : "class-\(Int.random(in: 0..<3, using: &random))"
            let called = random.chance(60) ? "name-\(step)-\(index)" : nil
            line += "\t\(label)\t\(called ?? "")\t\(number)"
            if model.examples[number]?.label != label { isChanged = true }
            model.examples[number] = Known(label: label, name: called ?? model.examples[number]?.name)
        }
        if isChanged { model.makeVersion() }
        return line
    }
}
