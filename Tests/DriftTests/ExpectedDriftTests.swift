import Drift
import Foundation
import JSON
import TestSupport
import Testing

/// The streams of ../shared/data/trust/drift: their evidence was computed with numpy.
@Suite(.enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
struct ExpectedDriftTests {
    private struct Expected: Decodable {
        let reference: Int
        let change_at: Int?
        let threshold: Double
        let evidence_after: [String: [String: Double]]
        let first_alarm: [String: Int?]?
    }

    private struct Row {
        var u = 0.0
        var observation = DriftObservation()
    }

    private static func folder() throws -> URL {
        try #require(SharedData.folder).appendingPathComponent("trust/drift")
    }

    private static func rows(_ name: String) throws -> [Row] {
        let text = try String(contentsOf: folder().appendingPathComponent(name + ".csv"), encoding: .utf8)
        let lines = text.split(whereSeparator: \.isNewline)
        let columns = try #require(lines.first).split(separator: ",").map(String.init)
        return try lines.dropFirst().map { line in
            var row = Row()
            for (column, value) in zip(columns, line.split(separator: ",")) {
                let number = try #require(Double(value))
                if column == "u" { row.u = number }
                if let signal = DriftSignal(rawValue: column) { row.observation[signal] = number }
            }
            return row
        }
    }

    @Test(
        "the evidence of each signal is that of numpy, after each number of pictures",
        arguments: ["steady", "dark", "blur", "mix", "broken"])
    func evidence(_ name: String) throws {
        let data = try Data(contentsOf: Self.folder().appendingPathComponent("expected.json"))
        let expected = try #require(try JSONDecoder().decode([String: Expected].self, from: data)[name])
        let plan = DriftMonitor.Plan(reference: expected.reference, pictures: expected.threshold)
        var monitor = DriftMonitor(at: 0), compared = 0
        for (index, row) in try Self.rows(name).enumerated() {
            _ = monitor.observe(row.observation, at: index, u: row.u, plan: plan)
            guard let values = expected.evidence_after[String(index + 1)] else { continue }
            let found = Dictionary(uniqueKeysWithValues: monitor.readings.map { ($0.signal.rawValue, $0.evidence) })
            #expect(Set(found.keys) == Set(values.keys))
            for (signal, value) in values {
                let evidence = try #require(found[signal])
                #expect(abs(evidence - value) <= 1e-6 * value, "\(signal) after \(index + 1) pictures")
                compared += 1
            }
        }
        #expect(compared == expected.evidence_after.values.reduce(0) { $0 + $1.count } && compared > 0)
    }

    /// The changes by the signal that names them: `dark` is darker, and so on.
    @Test(
        "a change is found within 500 pictures, by its signal, and nothing before",
        arguments: [("dark", "brightness"), ("blur", "sharpness"), ("mix", "labels"), ("broken", "")])
    func change(_ name: String, _ signal: String) throws {
        let plan = DriftMonitor.Plan(reference: 400, pictures: 3_600_000)
        var monitor = DriftMonitor(at: 0)
        let rows = try Self.rows(name)
        for (index, row) in rows.enumerated() {
            _ = monitor.observe(row.observation, at: index, u: row.u, plan: plan)
            if index < 1_000 { #expect(monitor.state != .drifted, "picture \(index)") }
        }
        #expect(monitor.state == .drifted)
        let drifted = monitor.readings.filter(\.hasDrifted).map(\.signal.rawValue)
        #expect(signal.isEmpty ? !drifted.isEmpty : drifted.contains(signal))
    }

    @Test("nothing is found in a stream without a change")
    func steady() throws {
        let plan = DriftMonitor.Plan(reference: 400, pictures: 3_600_000)
        var monitor = DriftMonitor(at: 0)
        for (index, row) in try Self.rows("steady").enumerated() {
            _ = monitor.observe(row.observation, at: index, u: row.u, plan: plan)
        }
        #expect(monitor.state == .steady)
    }

    /// Between any two pictures the daemon may be restarted.
    @Test("a monitor that is written and read again after each picture continues with the same numbers")
    func roundTrip() throws {
        let plan = DriftMonitor.Plan(reference: 150, pictures: 1_000)
        var monitor = DriftMonitor(at: 0), other = monitor
        for (index, row) in try Self.rows("dark").enumerated() where index % 3 == 0 {
            var observation = row.observation
            observation.vector = [Float(row.u), 1, -0.5]
            _ = monitor.observe(observation, at: index, u: row.u, plan: plan)
            _ = other.observe(observation, at: index, u: row.u, plan: plan)
            other = try DriftRecord(
                Data(DriftRecord(model: "m", version: "1", monitor: other).text())
            ).monitor
            #expect(monitor == other, "picture \(index)")
        }
        #expect(monitor.state == .drifted)
    }
}
