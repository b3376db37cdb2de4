internal import ConfinedDecoding
internal import FlowControl
internal import ImagePipeline
internal import SystemSupport

/// Decodes pictures of some formats in separate processes, and fetches their pixels before the tensor is filled.
extension Model {
    /// A value that an input can be filled with, and the memory that is reserved for decoding it.
    struct ReadyValue {
        var value: FeatureValue
        var room: DecodeBudget.Room?
        /// Nanoseconds of waiting for memory.
        var waited: UInt64 { room?.waited ?? 0 }
    }

    /// Reserves memory for decoding a value; a picture of some formats is also decoded.
    /// - Parameters:
    ///   - kept: the number of bytes for each pixel that are held in addition to decoding.
    ///   - more: further bytes, given the header.
    func ready(
        _ value: FeatureValue, plan: InputPlan, options: PredictionOptions, keeping kept: Int = 0,
        more: (ImageInfo) -> Int = { _ in 0 }
    ) async throws(InferenceError) -> ReadyValue {
        guard case .image(let pipeline) = plan.kind, case .image(let image) = value,
            let format = image.confinedFormat
        else {
            let room = try await decodeRoom(for: value, plan: plan, options: options, keeping: kept, more: more)
            return ReadyValue(value: value, room: room)
        }
        let name = plan.description.name
        let picture = try await Self.inThread(options, name) { (isCancelled) throws(ImageError) in
            try pipeline.opened(image, format: format, page: options.page, isCancelled: isCancelled)
        }
        let memory = Self.memory(
            picture.memory + pipeline.openTensorBytes(picture.info, image.decoding(options)) + more(picture.info),
            of: picture.info, keeping: kept)
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

    /// The memory in bytes for decoding a picture and for the data that is kept of it.
    static func memory(_ decoding: Int, of info: ImageInfo, keeping kept: Int) -> Int {
        let (pixels, isLarge) = info.width.multipliedReportingOverflow(by: info.height)
        let (held, isTooLarge) = pixels.multipliedReportingOverflow(by: kept)
        return isLarge || isTooLarge || held > .max - decoding ? .max : decoding + held
    }

    /// Runs work that waits for another process on its own thread.
    static func inThread<Value: Sendable>(
        _ options: PredictionOptions, _ name: String,
        _ work: @escaping @Sendable (_ isCancelled: @escaping () -> Bool) throws(ImageError) -> Value
    ) async throws(InferenceError) -> Value {
        let deadline = options.deadline
        let result: Result<Value, ImageError> = await LongDecoding.run { isCancelled in
            Result { () throws(ImageError) in
                try work { isCancelled() || deadline.hasPassed }
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
