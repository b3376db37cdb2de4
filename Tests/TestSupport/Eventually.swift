internal import Foundation

/// Checks a condition repeatedly, for a limited time, until it is true. The machine may be busy: the time is a limit
/// for a condition that never becomes true, not a measure of how long it may take.
/// - Parameters:
///   - seconds: the time limit.
///   - pause: the seconds between two checks.
/// - Returns: whether the condition became true.
@discardableResult
public func eventually(
    within seconds: Double = 60, every pause: Double = 0.02, _ condition: () throws -> Bool
) rethrows -> Bool {
    let end = Date().addingTimeInterval(seconds)
    while true {
        if try condition() { return true }
        guard Date() < end else { return false }
        Thread.sleep(forTimeInterval: pause)
    }
}
