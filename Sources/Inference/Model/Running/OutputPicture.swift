internal import FlowControl
internal import ImagePipeline

/// A picture that a model has computed from one of any size, before it is scaled back to that size and compressed. Both
/// take long for a large picture, and the infer request is not held during that time.
struct OutputPicture: Sendable {
    /// The name of the input with a tensor of the picture's size.
    let input: String
    let form: PixelReconstruction
    /// The elements of the output.
    let raw: [UInt8]
    /// The geometry of the picture that was sent, to which it is scaled back; nil for a picture of the output's size.
    let sent: PictureReturn?

    /// The number of pixels from which it is encoded on a separate thread.
    private static let large = 1 << 18

    /// Encodes the picture as PNG.
    func encoded(_ options: PredictionOptions) async throws(InferenceError) -> EncodedImage {
        let size = sent?.size(of: form) ?? ImageSize(width: form.width, height: form.height)
        if let sent, !sent.isAllowed(size) {
            throw .invalidInput(
                name: input,
                reason:
                    "the answer would be a picture of \(size.width) x \(size.height) pixels, expected at most \(sent.maximumPixels) "
                    + "pixels (max_pixels): send a smaller one")
        }
        let bytes = try options.checkAnswer(of: size, bytesOfPixel: form.channelOrder.channels)
        let room: DecodeBudget.Room?
        do throws(AdmissionError) {
            room = try await DecodeBudget.shared.take(bytes, for: options.claim, until: options.deadline)
        } catch {
            throw InferenceError(ofQueue: error)
        }
        defer { room?.release() }
        let result =
            size.width * size.height < Self.large
            ? png { false } : await LongDecoding.run { isCancelled in png(isCancelled) }
        do throws(ImageError) {
            return EncodedImage(try result.get())
        } catch {
            if case .cancelled = error { throw .stopped(at: .decode) }
            throw .image(error)
        }
    }

    private func png(_ isCancelled: () -> Bool) -> Result<[UInt8], ImageError> {
        raw.withUnsafeBytes { raw in
            Result { () throws(ImageError) in
                if isCancelled() { throw .cancelled }
                guard let sent else { return try form.png(raw) }
                return try sent.png(form, raw, isCancelled: isCancelled)
            }
        }
    }
}

/// A prediction after its infer request has been released.
struct UnfinishedPrediction: Sendable {
    /// A value, or a picture that has yet to be encoded.
    enum Part: Sendable {
        case value(FeatureValue)
        case picture(OutputPicture)
    }

    let parts: [(name: String, part: Part)]
    let image: ImageInfo?
    let times: StageTimes

    /// Encodes the pictures, and returns the prediction.
    func finished(_ options: PredictionOptions) async throws(InferenceError) -> Prediction {
        var values: [(name: String, value: FeatureValue)] = []
        for (name, part) in parts {
            switch part {
            case .value(let value): values.append((name, value))
            case .picture(let picture): values.append((name, .image(try await picture.encoded(options))))
            }
        }
        return Prediction(outputs: DictionaryFeatureProvider(values), image: image, times: times)
    }
}
