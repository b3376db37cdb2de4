internal import FlowControl
internal import Glibc
internal import ImagePipeline
internal import Synchronization
internal import SystemSupport

/// Runs long decodings and other long work on separate threads of lower priority.
///
/// A picture of a few kilobytes can take seconds of processor time. In a thread of Swift's pool it would delay the
/// requests of all other clients and models, because the pool has one thread for each processor and does not preempt
/// it. A thread of lower priority takes the remaining processor time, which is all of it if no other thread runs. The
/// number of these threads is limited by the slots that requests hold, and by the places of the queue for work without
/// slots. Short work stays on the pool, because changing threads would cost more than it saves.
package enum LongDecoding {
    /// Runs the work, and returns its result.
    /// - Parameters:
    ///   - lowPriority: whether the thread has lower priority; false for a request that holds a slot which is not for
    ///     long requests: on a busy machine it would hold that slot for long.
    ///   - work: the work; its argument returns true if the task was cancelled.
    package static func run<Value: Sendable>(
        lowPriority: Bool = true, _ work: @escaping @Sendable (_ isCancelled: @escaping @Sendable () -> Bool) -> Value
    ) async -> Value {
        started.add(1, ordering: .relaxed)
        let flag = Flag()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled: @Sendable () -> Bool = { flag.isSet.load(ordering: .relaxed) }
                do throws(SystemError) {
                    try SystemThread.start("decode") {
                        if lowPriority { SystemThread.lowerPriority() }
                        continuation.resume(returning: work(isCancelled))
                    }
                } catch {
                    // No further thread can be started: run the work here.
                    continuation.resume(returning: work(isCancelled))
                }
            }
        } onCancel: {
            flag.isSet.store(true, ordering: .relaxed)
        }
    }

    /// The number of calls so far. For tests.
    package static var count: UInt64 { started.load(ordering: .relaxed) }
    private static let started = Atomic<UInt64>(0)

    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }
}

extension ImagePipeline {
    /// The memory and time for decoding a picture.
    func demand(of image: EncodedImage) -> DecodeDemand {
        if let demand = image.demand { return demand }
        switch image.frame {
        case .success(let frame)?: return image.withUnsafeBytes { demand($0, frame: frame) }
        // It is refused before anything is decoded.
        case .failure?: return .none
        case nil: return image.withUnsafeBytes { demand($0) }
        }
    }
}

extension FeatureValue {
    /// The expected nanoseconds of decoding; 0 if it is not a picture.
    func decodingTime(_ plan: InputPlan) -> UInt64 {
        guard case .image(let pipeline) = plan.kind, case .image(let image) = self else { return 0 }
        return pipeline.demand(of: image).time
    }
}

extension EncodedImage {
    /// The expected nanoseconds of decoding; 0 if the header was not read.
    package var decodingTime: UInt64 { demand?.time ?? 0 }

    /// The expected nanoseconds of decoding, and of inference if that depends on the picture's size.
    package var pictureTime: UInt64 { decodingTime &+ inferenceTime }
}
