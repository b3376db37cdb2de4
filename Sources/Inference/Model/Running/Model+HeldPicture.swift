internal import ConfinedDecoding
internal import FlowControl
internal import ImagePipeline
internal import SystemSupport

extension Model {
    /// Decodes all pixels of a picture once, for all uses in a request. Reserves their memory in the decode budget, and
    /// takes no slot.
    /// - Parameters:
    ///   - isWhole: whether a truncated or damaged picture is refused, regardless of the settings.
    ///   - drawing: whether the pixels are also drawn on and encoded again.
    ///   - longerSide: the length that the longer side needs; nil for all pixels.
    ///   - more: bytes that the request needs besides, given the header.
    /// - Returns: the pixels, and the times of waiting and decoding.
    func hold(
        _ image: EncodedImage, isWhole: Bool, drawing: Bool, longerSide: Int? = nil,
        more: (ImageInfo) -> Int = { _ in 0 }, options: PredictionOptions
    ) async throws(InferenceError) -> (picture: HeldPicture, times: StageTimes) {
        guard let (plan, pipeline) = pictureInput() else {
            throw .unsupported(model: description.name, reason: "does not take one image")
        }
        let start = MonotonicInstant.now
        // If it is drawn on: a copy, and the encoded picture.
        let ready = try await ready(
            .image(image), plan: plan, options: options, keeping: drawing ? Self.bytesDrawn : Self.bytesKept, more: more
        )
        let room = ready.room
        do throws(InferenceError) {
            guard case .image(let image) = ready.value else {
                throw .invalidInput(name: "image", reason: "is no image")
            }
            let decoder = isWhole ? try Self.strict(pipeline) : pipeline
            let (pixels, info) = try await Self.pixels(of: image, decoder, longerSide: longerSide, options)
            var times = StageTimes()
            times.queue = ready.waited
            times.decode = MonotonicInstant.now.nanoseconds(since: start) &- ready.waited
            return (HeldPicture(pixels, info: info) { room?.release() }, times)
        } catch {
            room?.release()
            if error.isStoppedDecoding { throw .stopped(at: .decode) }
            throw error
        }
    }

    /// Decodes all pixels of a picture to draw on them.
    package func drawable(
        _ image: EncodedImage, options: PredictionOptions
    ) async throws(InferenceError) -> HeldPicture {
        try await hold(image, isWhole: true, drawing: true, options: options).picture
    }

    /// Bytes of each pixel that are held: red, green, blue, opacity; for a picture that is drawn on, also a copy and
    /// its encoded form.
    private static let bytesKept = 4, bytesDrawn = 12

    private static func strict(_ pipeline: ImagePipeline) throws(InferenceError) -> ImagePipeline {
        guard pipeline.limits.tolerateTruncation else { return pipeline }
        var limits = pipeline.limits
        limits.tolerateTruncation = false
        do throws(ImageError) {
            return try ImagePipeline(spec: pipeline.spec, limits: limits)
        } catch {
            throw .image(error, input: nil)
        }
    }

    /// The pixels and the header; a long decoding runs on its own thread.
    private static func pixels(
        of image: EncodedImage, _ pipeline: ImagePipeline, longerSide: Int?, _ options: PredictionOptions
    ) async throws(InferenceError) -> (PixelImage, ImageInfo) {
        let deadline = options.deadline, orientation = image.orientation ?? options.orientation
        let decode: @Sendable (@escaping () -> Bool) -> Result<Decoded, ImageError> = { isStopped in
            let isCancelled = { isStopped() || deadline.hasPassed }
            do throws(ImageError) {
                if let pixels = image.pixels {
                    let upright = try pipeline.pixels(pixels, orientation: orientation, isCancelled: isCancelled)
                    return .success(Decoded(pixels: upright, info: pixels.info.oriented(orientation)))
                }
                let frame = try image.frame?.get()
                return try .success(
                    image.withUnsafeBytes { (bytes) throws(ImageError) in
                        Decoded(
                            pixels: try pipeline.pixels(
                                bytes, frame: frame, orientation: orientation, longerSide: longerSide,
                                isCancelled: isCancelled),
                            info: try ImagePipeline.probe(bytes, frame: frame).oriented(orientation))
                    })
            } catch {
                return .failure(error)
            }
        }
        let result =
            pipeline.demand(of: image).time >= Claim.long
            ? await LongDecoding.run { decode($0) } : decode { Task.isCancelled }
        do throws(ImageError) {
            let decoded = try result.get()
            return (decoded.pixels, decoded.info)
        } catch {
            throw .image(error, input: nil)
        }
    }

    private struct Decoded: Sendable {
        let pixels: PixelImage
        let info: ImageInfo
    }
}
