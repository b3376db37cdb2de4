internal import ImagePipeline

/// A picture that a model made at the size of the one that was sent, before it is brought back to that and compressed:
/// this takes long for a large one, and the infer request is not held meanwhile.
struct MadePicture: Sendable {
    /// The input whose size the tensor has taken.
    let input: String
    let form: PixelReconstruction
    /// The output's elements.
    let raw: [UInt8]
    let sent: PictureReturn

    /// Pixels from which it is encoded in a thread of its own.
    private static let large = 1 << 18

    /// The picture as PNG.
    func encoded() async throws(InferenceError) -> EncodedImage {
        let size = sent.size(of: form)
        guard sent.isAllowed(size) else {
            throw .invalidInput(
                name: input,
                reason:
                    "the answer would be a picture of \(size.width) x \(size.height) pixels, expected at most \(sent.mostPixels) "
                    + "pixels (max_pixels): send a smaller one")
        }
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
                return try sent.png(form, raw, isCancelled: isCancelled)
            }
        }
    }
}

/// A prediction as it leaves the infer request.
struct UnfinishedPrediction: Sendable {
    /// A value, or a picture that is still to be encoded.
    enum Part: Sendable {
        case value(FeatureValue)
        case picture(MadePicture)
    }

    let parts: [(name: String, part: Part)]
    let image: ImageInfo?
    let times: StageTimes

    /// The prediction, with its pictures encoded.
    func finished() async throws(InferenceError) -> Prediction {
        var values: [(name: String, value: FeatureValue)] = []
        for (name, part) in parts {
            switch part {
            case .value(let value): values.append((name, value))
            case .picture(let picture): values.append((name, .image(try await picture.encoded())))
            }
        }
        return Prediction(outputs: DictionaryFeatureProvider(values), image: image, times: times)
    }
}
