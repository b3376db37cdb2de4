internal import FlowControl
internal import Settings
internal import SystemSupport

/// The progress line of a bulk run: number of pictures, rate, remaining time.
struct BulkProgress {
    let write: (String) -> Void
    /// The number of pictures; nil if it is not known (yet).
    var total: Int?
    private(set) var failed = 0
    private var done = 0, skipped = 0
    private let begin = MonotonicInstant.now
    private var shown = MonotonicInstant.now

    init(write: @escaping (String) -> Void) {
        self.write = write
    }

    mutating func add(hasFailed: Bool, wasSkipped: Bool) {
        done += 1
        if hasFailed { failed += 1 }
        if wasSkipped { skipped += 1 }
        let now = MonotonicInstant.now
        // Write to the terminal at most ten times a second.
        guard done == 1 || now.nanoseconds(since: shown) > 100_000_000 else { return }
        shown = now
        write(text(seconds: Double(now.nanoseconds(since: begin)) / 1e9))
    }

    func end() { write("") }

    /// - Parameter seconds: the time since the start.
    func text(seconds: Double) -> String {
        // Skipped pictures take less time, so they are not part of the rate.
        let rate = Double(done - skipped) / max(seconds, 0.001)
        var text =
            "\(done)\(total.map { " of \($0)" } ?? "") done, \(failed) failed, \(Units.decimal(rate, places: 1))/s"
        if let total, total > done, rate > 0 {
            text += ", \(Self.words(Double(total - done) / rate)) left"
        }
        return text
    }

    private static func words(_ seconds: Double) -> String {
        guard seconds < 360_000_000 else { return "long" }
        let whole = Int(seconds.rounded(.up))
        if whole < 60 { return "\(whole) s" }
        if whole < 3600 { return "\(whole / 60) min \(whole % 60) s" }
        return "\(whole / 3600) h \(whole / 60 % 60) min"
    }
}
