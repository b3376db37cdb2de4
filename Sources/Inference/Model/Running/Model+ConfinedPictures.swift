internal import ConfinedDecoding
internal import FlowControl
internal import ImagePipeline
internal import SystemSupport

/// Pictures that are decoded in processes of their own: before the tensor is filled, their pixels are fetched.
extension Model {
    /// A value that an input can be filled with, and the memory that is held for decoding it until then.
    struct ReadyValue {
        var value: FeatureValue
        var room: DecodeBudget.Room?
        /// Nanoseconds that were waited for memory.
        var waited: UInt64 { room?.waited ?? 0 }
    }

    /// The value with its memory; for a picture of some formats, with its pixels.
    /// - Parameter kept: bytes of each pixel that are held beyond decoding.
    func ready(
        _ value: FeatureValue, plan: InputPlan, options: PredictionOptions, keeping kept: Int = 0
    ) async throws(InferenceError) -> ReadyValue {
        guard case .image(let pipeline) = plan.kind, case .image(let image) = value,
            let format = image.confinedFormat
        else {
            let room = try await decodeRoom(for: value, plan: plan, options: options, keeping: kept)
            return ReadyValue(value: value, room: room)
        }
        let name = plan.description.name
        let picture = try await Self.inThread(options, name) { (isCancelled) throws(ImageError) in
            try pipeline.opened(image, format: format, page: options.page, isCancelled: isCancelled)
        }
        let memory = Self.memory(
            picture.memory + pipeline.openTensorBytes(picture.info, ImageDecodeOptions(options)), of: picture.info,
            keeping: kept)
        let room = try await Self.room(memory, options, of: name)
        do throws(InferenceError) {
            var image = image
            image.pixels = try await Self.inThread(options, name) { (isCancelled) throws(ImageError) in
                try picture.decode(isCancelled: isCancelled)
            }
            return ReadyValue(value: .image(image), room: room)
        } catch {
            room?.release()
            throw error
        }
    }

    /// Bytes of decoding a picture and of what is held of it.
    static func memory(_ decoding: Int, of info: ImageInfo, keeping kept: Int) -> Int {
        let (pixels, isLarge) = info.width.multipliedReportingOverflow(by: info.height)
        let (held, isTooLarge) = pixels.multipliedReportingOverflow(by: kept)
        return isLarge || isTooLarge || held > .max - decoding ? .max : decoding + held
    }

    /// Does what waits for another process, in a thread for it.
    static func inThread<Value: Sendable>(
        _ options: PredictionOptions, _ name: String,
        _ work: @escaping @Sendable (_ isCancelled: @escaping () -> Bool) throws(ImageError) -> Value
    ) async throws(InferenceError) -> Value {
        let deadline = options.deadline
        let result: Result<Value, ImageError> = await LongDecoding.run { isCancelled in
            do throws(ImageError) {
                return .success(
                    try work { isCancelled() || (deadline.map { MonotonicInstant.now >= $0 } ?? false) })
            } catch {
                return .failure(error)
            }
        }
        do throws(ImageError) {
            return try result.get()
        } catch {
            if case .cancelled = error { throw .stopped(at: .decode) }
            throw .image(error, input: name)
        }
    }
}
