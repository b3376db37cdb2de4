internal import Settings
internal import SystemSupport

/// The line that shows how far a file is, at most five times a second.
final class ProgressMeter {
    private let name: String, size: Int
    private let progress: (String) -> Void
    private let start: MonotonicInstant
    private var shown: MonotonicInstant
    private var first: Int?

    init(name: String, size: Int, progress: @escaping (String) -> Void) {
        (self.name, self.size, self.progress) = (name, size, progress)
        start = MonotonicInstant.now
        shown = start
    }

    /// - Parameter count: the number of bytes on disk.
    func received(_ count: Int) {
        let now = MonotonicInstant.now
        if first == nil { first = count }
        guard now.nanoseconds(since: shown) >= 200_000_000 else { return }
        shown = now
        let seconds = Double(now.nanoseconds(since: start)) / 1e9
        let rate = Double(max(0, count - (first ?? 0))) / max(seconds, 0.001)
        let share = size > 0 ? Int(Double(count) / Double(size) * 100) : 100
        progress(
            "\(name): \(Units.bytes(count)) of \(Units.bytes(size)) (\(share) %), \(Units.bytes(Int(min(rate, 1e15))))/s"
        )
    }
}
