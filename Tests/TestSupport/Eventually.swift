internal import Foundation

/// Looks again and again, for a bounded time, until something holds. The machine may be busy: the time is for what
/// never comes true, and no measure of how long it may take.
/// - Parameters:
///   - seconds: after which it gives up.
///   - pause: seconds between two looks.
/// - Returns: whether it ever held.
@discardableResult
public func eventually(
    within seconds: Double = 20, every pause: Double = 0.02, _ condition: () throws -> Bool
) rethrows -> Bool {
    let end = Date().addingTimeInterval(seconds)
    while true {
        if try condition() { return true }
        guard Date() < end else { return false }
        Thread.sleep(forTimeInterval: pause)
    }
}
