import Glibc

@_silgen_name("allocation_count") func allocationCount() -> UInt

/// Runs a closure repeatedly, and reports the time and the allocations of one run.
struct Measurement {
    let name: String
    /// The time of the best round, because noise only adds.
    var nanoseconds = Double.infinity
    var allocations = 0.0
    let bytes: Int

    /// - Parameters:
    ///   - bytes: the number of bytes that one run reads or writes, for the rate.
    ///   - body: one run; returns something that depends on its work, so that the work stays.
    init(_ name: String, bytes: Int, _ body: () -> Int) {
        self.name = name
        self.bytes = bytes
        var sum = 0
        for _ in 0..<100 { sum &+= body() }
        // As many runs in a round as take about 50 ms.
        let start = Self.now()
        for _ in 0..<100 { sum &+= body() }
        let runs = max(10, Int(5_000_000_000 / max(Self.now() - start, 1)))
        let before = allocationCount()
        for _ in 0..<7 {
            let start = Self.now()
            for _ in 0..<runs { sum &+= body() }
            nanoseconds = min(nanoseconds, Double(Self.now() - start) / Double(runs))
        }
        allocations = Double(allocationCount() - before) / Double(7 * runs)
        if sum == 42 { print() }
    }

    var line: String {
        let columns = [
            pad(name, 44, left: true), pad("\(bytes)", 9), pad(fixed(nanoseconds), 12),
            pad(fixed(Double(bytes) / nanoseconds, 2), 8), pad(fixed(allocations), 8),
        ]
        return columns.joined(separator: " ")
    }

    static let heading = "what                                             bytes     ns a run     GB/s   allocs"

    private func pad(_ text: String, _ width: Int, left: Bool = false) -> String {
        let blanks = String(repeating: " ", count: max(0, width - text.count))
        return left ? text + blanks : blanks + text
    }

    private func fixed(_ number: Double, _ digits: Int = 1) -> String {
        let scale = digits == 1 ? 10.0 : 100.0
        return "\((number * scale).rounded() / scale)"
    }

    // CPU time, which depends less on other load of the machine.
    private static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
