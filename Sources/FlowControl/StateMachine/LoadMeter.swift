internal import Glibc
package import SystemSupport

/// Distinguishes load from overload: counts recent arrivals and completions, with exponential decay.
///
/// Each event adds 1; a count decays to 1/e in ``window``. In a closed loop (a bulk job with 200 connections) each
/// request follows an answer, so the two counts agree for any length of the queue. Under overload, arrivals keep
/// exceeding completions. The length of the queue is not sufficient to distinguish the two.
package struct LoadMeter: Sendable {
    /// Arrivals, including requests that were refused, which are load as well.
    package private(set) var arrivals = 0.0
    /// Releases of slots.
    package private(set) var completions = 0.0
    /// Waiters that left after more than the target: the client disconnected, or their time was up.
    package private(set) var departures = 0.0
    private var countedAt = MonotonicInstant(nanoseconds: 0)
    private let shortestWindow: Double
    private var window: Double

    /// Within the time of this many completions, the noise of single requests is small relative to the counts.
    private static let completionsInWindow = 8.0

    /// - Parameter window: the minimum window in nanoseconds; it grows if completions are rare.
    package init(window: Double) {
        shortestWindow = window
        self.window = window
    }

    package mutating func arrived(at now: MonotonicInstant) {
        fade(to: now)
        arrivals += 1
    }

    /// Counts a released slot.
    /// - Parameter interval: the mean time between two releases while all slots are taken, in nanoseconds.
    package mutating func completed(at now: MonotonicInstant, interval: Double) {
        fade(to: now)
        completions += 1
        window = min(max(shortestWindow, Self.completionsInWindow * interval), 3.6e12)
    }

    package mutating func departed(at now: MonotonicInstant) {
        fade(to: now)
        departures += 1
    }

    /// True if arrivals clearly exceed completions: by more than the fraction `part`.
    package func isGrowing(by part: Double = 0.05, at now: MonotonicInstant) -> Bool {
        let left = fading(to: now)
        return arrivals * left > completions * left * (1 + part) + 2
    }

    /// True if arrivals do not exceed completions.
    package func isStable(at now: MonotonicInstant) -> Bool {
        let left = fading(to: now)
        return arrivals * left <= completions * left * 1.02 + 1
    }

    /// True if many arrivals leave again before they get a slot.
    package func isAbandoned(at now: MonotonicInstant) -> Bool {
        let left = fading(to: now)
        return departures * left > max(3, arrivals * left / 30)
    }

    /// The ratio of arrivals to completions, at least 1.
    package var pressure: Double {
        completions > 0.5 ? max(arrivals / completions, 1) : max(arrivals, 1)
    }

    private func fading(to now: MonotonicInstant) -> Double {
        exp(-Double(now.nanoseconds(since: countedAt)) / window)
    }

    private mutating func fade(to now: MonotonicInstant) {
        let left = fading(to: now)
        arrivals *= left
        completions *= left
        departures *= left
        countedAt = max(countedAt, now)
    }
}
