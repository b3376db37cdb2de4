internal import Glibc
package import SystemSupport

/// Tells load from overload: how many requests came and how many were done lately, as counts that fade.
///
/// Each event adds 1; a count falls to 1/e of itself in ``window``. In a closed loop (a bulk job with 200 connections)
/// each request follows an answer, so the two counts agree however long the queue is. Under overload more come than are
/// done, and continue doing so. The length of the queue alone cannot tell the two apart.
package struct LoadMeter: Sendable {
    /// Requests that came: those that were refused too, for they are load as well.
    package private(set) var arrivals = 0.0
    /// Slots that came back.
    package private(set) var completions = 0.0
    /// Waiters whose client left, or whose time was up, after more than the target.
    package private(set) var departures = 0.0
    private var countedAt = MonotonicInstant(nanoseconds: 0)
    private let shortestWindow: Double
    private var window: Double

    /// In the time of this many completions, the noise of single requests is small beside the counts.
    private static let completionsInWindow = 8.0

    /// - Parameter window: the shortest window in nanoseconds; it is longer where completions are rare.
    package init(window: Double) {
        shortestWindow = window
        self.window = window
    }

    package mutating func arrived(at now: MonotonicInstant) {
        fade(to: now)
        arrivals += 1
    }

    /// A slot came back.
    /// - Parameter interval: the mean time between two of them while all are taken, in nanoseconds.
    package mutating func completed(at now: MonotonicInstant, interval: Double) {
        fade(to: now)
        completions += 1
        window = min(max(shortestWindow, Self.completionsInWindow * interval), 3.6e12)
    }

    package mutating func departed(at now: MonotonicInstant) {
        fade(to: now)
        departures += 1
    }

    /// True if clearly more requests come than are done: more than `part` of those that are done.
    package func isGrowing(by part: Double = 0.05, at now: MonotonicInstant) -> Bool {
        let left = fading(to: now)
        return arrivals * left > completions * left * (1 + part) + 2
    }

    /// True if no more requests come than are done.
    package func isSettled(at now: MonotonicInstant) -> Bool {
        let left = fading(to: now)
        return arrivals * left <= completions * left * 1.02 + 1
    }

    /// True if many of those who come leave again before they get a slot.
    package func losesPatience(at now: MonotonicInstant) -> Bool {
        let left = fading(to: now)
        return departures * left > max(3, arrivals * left / 30)
    }

    /// The number of requests that come for each that is done; 1 where that is not known.
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
