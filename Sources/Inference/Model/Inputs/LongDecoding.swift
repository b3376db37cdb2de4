internal import FlowControl
internal import Glibc
internal import ImagePipeline
internal import Synchronization
internal import SystemSupport

/// Long decodings, on threads of their own that give way to others.
///
/// A picture of a few kilobytes can take a processor for seconds. In a thread of Swift's pool it would keep the
/// requests of all other clients and models waiting, since the pool has one for each processor and nothing takes a
/// processor from it. A thread of lower priority takes what is left, which is all of it where nobody else is there.
/// Their number is bounded by the slots that long requests hold. Nothing changes for short ones, where changing threads
/// would cost more than it brings.
package enum LongDecoding {
    /// Does the work, and returns what it gives.
    /// - Parameter work: the work; its argument returns true if the task was cancelled.
    package static func run<Value: Sendable>(
        _ work: @escaping @Sendable (_ isCancelled: @escaping @Sendable () -> Bool) -> Value
    ) async -> Value {
        let flag = Flag()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled: @Sendable () -> Bool = { flag.isSet.load(ordering: .relaxed) }
                do throws(SystemError) {
                    try SystemThread.start("decode") {
                        SystemThread.giveWay()
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
