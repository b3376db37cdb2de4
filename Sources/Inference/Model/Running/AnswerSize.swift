internal import ImagePipeline

extension PredictionOptions {
    /// Refuses an answer of a picture's size that is larger than the memory for answers, before it is made.
    /// - Parameter bytesOfPixel: of the answer's values; a JSON answer holds up to a third more.
    /// - Returns: the bytes of the values.
    @discardableResult
    func checkAnswer(of size: ImageSize, bytesOfPixel: Int) throws(InferenceError) -> Int {
        let (pixels, isLarge) = size.width.multipliedReportingOverflow(by: size.height)
        let (bytes, overflow) = pixels.multipliedReportingOverflow(by: bytesOfPixel)
        let isTooLarge = isLarge || overflow || bytes > maxAnswerBytes / 4 * 3
        guard isTooLarge else { return bytes }
        throw .image(
            .answerTooLarge(
                bytes: isLarge || overflow ? .max : bytes, limit: maxAnswerBytes, width: size.width,
                height: size.height))
    }
}
