internal import Dispatch
internal import SystemSupport

/// Work that blocks for long (loading a model, reading folders), on a thread that ends with it.
///
/// Not a pool's thread: a load takes seconds, and requests wait for pool threads; a pool that sees one blocked starts another,
/// and keeps it afterwards.
package enum LoaderThread {
    /// Does the work and returns what it gives; the calling task only waits.
    package static func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            let body: @Sendable () -> Void = { continuation.resume(returning: work()) }
            do throws(SystemError) {
                try SystemThread.start("load", body)
            } catch {
                // No further thread can be started: one of the existing ones does the work.
                DispatchQueue.global(qos: .userInitiated).async(execute: body)
            }
        }
    }
}
