internal import Dispatch
internal import Glibc

/// Work that blocks for long (loading a model, reading folders), on a thread that ends with it.
///
/// Not a pool's thread: a load takes seconds, and requests wait for pool threads; a pool that sees one blocked starts another,
/// and keeps it afterwards.
package enum LoaderThread {
    /// What a thread is started with.
    private final class Job: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Does the work and returns what it gives; the calling task only waits.
    package static func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            let job = Job { continuation.resume(returning: work()) }
            // Where there can be no thread more, one that there is has to do.
            if !start(job) { DispatchQueue.global(qos: .userInitiated).async { job.body() } }
        }
    }

    private static func start(_ job: Job) -> Bool {
        var attributes = pthread_attr_t()
        guard pthread_attr_init(&attributes) == 0 else { return false }
        defer { pthread_attr_destroy(&attributes) }
        guard pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED)) == 0 else { return false }
        let box = Unmanaged.passRetained(job)
        var thread = pthread_t()
        let failed = pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Job>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            }, box.toOpaque())
        if failed != 0 { box.release() }
        return failed == 0
    }
}
