import LoadGenerator
import Testing

@Suite struct SendScheduleTests {
    @Test("requests are due at a constant rate without drift")
    func requestsAreDueAtAConstantRateWithoutDrift() {
        let schedule = SendSchedule(start: 1000, rate: 3)
        #expect(schedule.time(of: 0) == 1000)
        #expect(schedule.time(of: 3) == 1_000_001_000)
        #expect(schedule.time(of: 3_000_000) == 1_000_000_000_001_000)
    }

    @Test(
        "the count of due requests is exact at each request's time and just before",
        arguments: [0.1, 1, 3, 7.7, 333.3, 1e5, 2e5])
    func dueCountsExactlyThoseWhoseTimeHasCome(_ rate: Double) {
        let schedule = SendSchedule(start: 5_000_000, rate: rate)
        #expect(schedule.due(by: 4_999_999) == 0)
        for index in [0, 1, 2, 999, 12_345] {
            let time = schedule.time(of: index)
            #expect(schedule.due(by: time) == index + 1)
            if time > schedule.start { #expect(schedule.due(by: time - 1) == index) }
        }
        #expect(schedule.count(before: schedule.time(of: 50)) == 50)
        #expect(schedule.count(before: schedule.start) == 0)
    }

    @Test("rates are read from lists and ranges, and anything else is refused")
    func ratesAreReadAsTheyAreWritten() throws {
        #expect(try RateList.parse("50,100,200") == [50, 100, 200])
        #expect(try RateList.parse("10..40/4") == [10, 20, 30, 40])
        #expect(try RateList.parse("10..80").count == 8)
        for wrong in ["", "a", "10..", "..10", "20..10", "1..2/1", "1..2/99", "5,,6", "-3", "0", "1e9", "nan", "inf"] {
            #expect(throws: LoadError.self, "\(wrong)") { try RateList.parse(wrong) }
        }
        let many = Array(repeating: "1", count: 33).joined(separator: ",")
        #expect(throws: LoadError.self) { try RateList.parse(many) }
        let rates = RateList.around(capacity: 0.2)
        #expect(rates.allSatisfy { LoadPlan.rateBounds.contains($0) })
    }
}
