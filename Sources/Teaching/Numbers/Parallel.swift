internal import Dispatch

/// Work on several processors at once.
enum Parallel {
    /// Numbers from which on the threads cost less than they bring.
    static let worthIt = 1 << 22

    /// Calls the body once for each index, in any order, and returns when all are done.
    static func forEach(_ count: Int, isParallel: Bool, _ body: (Int) -> Void) {
        if isParallel {
            DispatchQueue.concurrentPerform(iterations: count, execute: body)
        } else {
            for index in 0..<count { body(index) }
        }
    }
}
