import LoadGenerator
import Testing

/// The objective of `ocelli load --slo`, and the search for the highest rate that meets it.
@Suite struct ServiceObjectiveTests {
    private static func seconds(_ text: String) -> Double? {
        text.hasSuffix("ms") ? Double(text.dropLast(2)).map { $0 / 1000 } : Double(text.dropLast())
    }

    @Test("an objective of a percentile and a time is read", arguments: ["p99<50ms", "p99.9 < 2s", "p50<10ms"])
    func percentilesAndTimesAreRead(_ text: String) throws {
        _ = try ServiceObjective(parsing: text, duration: Self.seconds)
    }

    @Test(
        "any other objective text is refused with an example",
        arguments: [
            "", "p99", "99<50ms", "p100<50ms", "p0<50ms", "p99<", "p99<x", "p99<50ms<60ms", "p99>50ms", "p99<0ms",
        ])
    func otherTextIsRefusedWithAnExample(_ text: String) {
        let error = #expect(throws: LoadError.self) { try ServiceObjective(parsing: text, duration: Self.seconds) }
        #expect(error?.description.contains("\"p99<50ms\", found \"\(text)\"") == true)
    }

    @Test("a time without a unit is refused with the units, because milliseconds are usually meant")
    func aTimeNeedsItsUnit() {
        let error = #expect(throws: LoadError.self) {
            try ServiceObjective(parsing: "p99 < 300", duration: Self.seconds)
        }
        #expect(
            error?.description == "\"p99 < 300\" has no unit of time: write \"p99<300ms\", or \"p99<300s\"",
            "\(error as Any)")
    }

    private static func step(rate: Double, answers: Int, milliseconds: [UInt64], statuses: [Int: Int] = [:])
        -> StepResult
    {
        var step = StepResult(plan: LoadPlan(loop: .open(rate: rate), connections: 8))
        (step.due, step.sent, step.successesInTime, step.measuredSeconds) = (answers, answers, answers, 10)
        step.statuses = [200: answers].merging(statuses) { $1 }
        for one in milliseconds { step.latency.record(one * 1_000_000) }
        return step
    }

    @Test("a load misses its objective by its percentile, its failures or its rate")
    func aLoadHoldsByItsPercentileItsAnswersAndItsRate() throws {
        let objective = try ServiceObjective(parsing: "p90<50ms", duration: Self.seconds)
        let quick = [UInt64](repeating: 20, count: 95)
        func objection(_ step: StepResult) -> String? { objective.objection(to: step) }
        #expect(objection(Self.step(rate: 10, answers: 100, milliseconds: quick + [900, 900, 900, 900, 900])) == nil)
        let slow = objection(
            Self.step(rate: 10, answers: 100, milliseconds: quick + [UInt64](repeating: 80, count: 20)))
        #expect(slow?.hasPrefix("p90 was ") == true, "\(slow ?? "none")")
        #expect(objection(Self.step(rate: 20, answers: 100, milliseconds: quick))?.contains("did not keep up") == true)
        #expect(
            objection(Self.step(rate: 10, answers: 100, milliseconds: quick, statuses: [503: 1]))?
                .hasPrefix("1 of 100 requests failed") == true)
        #expect(objection(Self.step(rate: 10, answers: 0, milliseconds: []))?.hasPrefix("nothing was answered") == true)
    }

    /// Servers that sustain rates up to a limit: the result is at most 4 % below the limit, and never above.
    @Test(
        "the search finds the highest sustained rate, within 5 % and 14 tries",
        arguments: [0.3, 4, 37, 212, 1_000, 9_999, 150_000], [0.25, 1.0, 6])
    func theSearchFindsTheHighestRateThatHolds(_ limit: Double, _ error: Double) {
        var search = RateSearch(capacity: limit * error)
        var tries = 0
        while let rate = search.next {
            tries += 1
            search.record(holds: rate <= limit)
        }
        let best = search.best ?? 0
        // Below ten, rates are in tenths.
        #expect(best <= limit && best >= limit / 1.05 - 0.1, "\(best) of \(limit), \(tries) tries")
        #expect(tries <= 14)
    }

    @Test("the search ends without a rate for a server that misses the objective at every rate")
    func aServerThatNeverHoldsEndsTheSearch() {
        var search = RateSearch(capacity: 1_000)
        var tries = 0
        while search.next != nil {
            tries += 1
            search.record(holds: false)
        }
        #expect(search.best == nil && tries <= 14)
    }
}
