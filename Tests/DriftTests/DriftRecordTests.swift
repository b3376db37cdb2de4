import Drift
import Foundation
import TestSupport
import Testing

/// The file of a monitor: what is damaged is refused, and nothing crashes.
@Suite struct DriftRecordTests {
    private static func record() -> DriftRecord {
        var random = SplitMix(seed: 7), monitor = DriftMonitor(at: 5)
        for index in 0..<400 {
            var observation = DriftObservation()
            observation[.brightness] = Double.random(in: 0...1, using: &random)
            observation.setLabel(Int.random(in: 0..<3, using: &random), of: 3)
            observation.vector = [1, Float.random(in: 0...1, using: &random), 2]
            _ = monitor.observe(
                observation, at: index, u: Double.random(in: 0..<1, using: &random),
                plan: .init(reference: 200, pictures: 1e6))
        }
        return DriftRecord(model: "m", version: "1", monitor: monitor)
    }

    private static func read(_ text: String) -> Result<DriftRecord, DriftRecord.Problem> {
        Result { () throws(DriftRecord.Problem) in try DriftRecord(Data(text.utf8)) }
    }

    @Test("a record is read as it was written")
    func roundTrip() throws {
        let record = Self.record()
        #expect(try DriftRecord(Data(record.text())) == record)
        let empty = DriftRecord(model: "a/b \"c\"", version: "", monitor: DriftMonitor(at: 0))
        #expect(try DriftRecord(Data(empty.text())) == empty)
    }

    @Test(
        "numbers that no monitor has are refused",
        arguments: [
            ("\"format\":1", "\"format\":2"), ("\"format\":1", "\"format\":\"1\""),
            ("\"state\":\"steady\"", "\"state\":\"x\""),
            ("\"since\":199", "\"since\":-1"), ("\"since\":199", "\"since\":1e300"),
            ("\"since\":199", "\"since\":9223372036854775807"), ("\"pictures\":200", "\"pictures\":-5"),
            ("\"directions\":20", "\"directions\":0"), ("\"direction\":[", "\"direction\":[1e308,"),
            ("\"labels\":{", "\"lables\":{"), ("\"evidence\":[", "\"evidence\":[1,"),
            ("\"evidence\":[", "\"evidence\":[-"),
            ("\"recent\":[", "\"recent\":[2,"), ("\"cells\":[", "\"cells\":[5,"), ("\"cells\":[", "\"cells\":[-1,3,"),
            ("\"cells\":[", "\"cells\":[0,9007199254740992,1,9007199254740992,"), ("\"cells\":[", "\"cells\":[1023,1,"),
            ("\"drifted\":false", "\"drifted\":true"), ("\"drifted\":false", "\"drifted\":0"),
            ("\"sum\":", "\"sum\":-"), ("\"sum\":", "\"sum\":1e9,\"s\":"), ("\"times\":[", "\"times\":[0.5,"),
        ])
    func impossibleNumbers(_ right: String, _ wrong: String) throws {
        let text = String(decoding: Self.record().text(), as: UTF8.self)
        let range = try #require(text.range(of: right))
        let damaged = text.replacingCharacters(in: range, with: wrong)
        guard case .failure(let problem) = Self.read(damaged) else {
            Issue.record("accepted \(wrong)")
            return
        }
        #expect(!problem.reason.isEmpty)
    }

    @Test("a record that is cut off or has other bytes is refused, or is read as a possible record")
    func damage() {
        let seed = SplitMix.seed(for: "damage")
        var random = SplitMix(seed: seed)
        let text = Self.record().text()
        for count in stride(from: 0, to: text.count - 2, by: 97) {
            #expect(throws: DriftRecord.Problem.self) { try DriftRecord(Data(text.prefix(count))) }
        }
        for _ in 0..<500 {
            var bytes = text
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            guard var record = try? DriftRecord(Data(bytes)) else { continue }
            var observation = DriftObservation()
            observation[.brightness] = 0.5
            observation.vector = [1, 2, 3]
            _ = record.monitor.observe(observation, at: 1, u: 0.5, plan: .init(reference: 300, pictures: 1))
            #expect(record.monitor.readings.allSatisfy { $0.evidence >= 0 && $0.evidence.isFinite }, "seed \(seed)")
        }
        #expect(throws: DriftRecord.Problem.self) {
            try DriftRecord(Data(repeating: 0x20, count: DriftRecord.largest + 1))
        }
    }
}
