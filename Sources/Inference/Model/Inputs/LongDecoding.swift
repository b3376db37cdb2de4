internal import FlowControl
internal import Glibc
internal import ImagePipeline
internal import Synchronization
internal import SystemSupport

/// Long decodings and other long work, on threads of their own that give way to others.
///
/// A picture of a few kilobytes can take a processor for seconds. In a thread of Swift's pool it would keep the
/// requests of all other clients and models waiting, since the pool has one for each processor and nothing takes a
/// processor from it. A thread of lower priority takes what is left, which is all of it where nobody else is there.
/// Their number is bounded by the slots that requests hold, and by the places of the queue for work without slots.
/// Nothing changes for short ones, where changing threads would cost more than it brings.
package enum LongDecoding {
    /// Does the work, and returns what it gives.
    /// - Parameters:
    ///   - givingWay: false for the work of a request that holds a slot which is not for long ones: where others use
    ///     all processors, it would keep the slot for long.
    ///   - work: the work; its argument returns true if the task was cancelled.
    package static func run<Value: Sendable>(
        givingWay: Bool = true, _ work: @escaping @Sendable (_ isCancelled: @escaping @Sendable () -> Bool) -> Value
    ) async -> Value {
        started.add(1, ordering: .relaxed)
        let flag = Flag()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled: @Sendable () -> Bool = { flag.isSet.load(ordering: .relaxed) }
                do throws(SystemError) {
                    try SystemThread.start("decode") {
                        if givingWay { SystemThread.giveWay() }
                        continuation.resume(returning: work(isCancelled))
                    }
                } catch {
                    // No further thread can be started.
                    continuation.resume(returning: work(isCancelled))
                }
            }
        } onCancel: {
            flag.isSet.store(true, ordering: .relaxed)
        }
    }

    /// The number of works that were begun. For tests.
    package static var count: UInt64 { started.load(ordering: .relaxed) }
    private static let started = Atomic<UInt64>(0)

    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }
}

extension ImagePipeline {
    /// The demand of decoding a picture: memory and time.
    func demand(of image: EncodedImage) -> DecodeDemand {
        image.demand ?? image.withUnsafeBytes { demand($0) }
    }
}

extension FeatureValue {
    /// Nanoseconds of decoding, if it is a picture.
    func decodingTime(_ plan: InputPlan) -> UInt64 {
        guard case .image(let pipeline) = plan.kind, case .image(let image) = self else { return 0 }
        return pipeline.demand(of: image).time
    }
}

extension EncodedImage {
    /// Nanoseconds of decoding; 0 where the header was not read.
    package var decodingTime: UInt64 { demand?.time ?? 0 }

    /// The same, and of inference where its time depends on the picture's size.
    package var pictureTime: UInt64 { decodingTime &+ inferenceTime }
}
