import CJPEG

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// Writes JPEG files, without metadata.
public enum JPEGEncoder {
    /// The longest side that libjpeg supports.
    public static let longestSide = 65_500

    /// Encodes RGB pixels, with chroma at half resolution.
    ///
    /// - Parameters:
    ///   - width, height: the size, each side 1 to ``longestSide``.
    ///   - pixels: exactly `width * height * 3` bytes, row by row.
    ///   - quality: libjpeg's quality, 1 to 100.
    ///   - isCancelled: called between batches of rows; if it returns true, the call throws `cancelled`.
    /// - Returns: a complete file.
    public static func encode(
        width: Int, height: Int, pixels: UnsafeRawBufferPointer, quality: Int = 90,
        isCancelled: () -> Bool = { false }
    ) throws(ImageError) -> [UInt8] {
        guard (1...longestSide).contains(width), (1...longestSide).contains(height) else {
            throw .sideTooLong(limit: longestSide, width: width, height: height)
        }
        let expected = width * height * 3
        guard pixels.count == expected, let base = pixels.baseAddress else {
            throw .wrongSize(expected: expected, got: pixels.count)
        }
        var count = 0
        let (encoded, wasStopped) = EncoderPoll.run(isCancelled) { poll, context in
            cjpeg_encode(
                base.assumingMemoryBound(to: UInt8.self), UInt32(clamping: width), UInt32(clamping: height),
                Int32(min(max(quality, 1), 100)), poll, context, &count)
        }
        guard let encoded else { throw wasStopped ? .cancelled : .outOfMemory }
        defer { free(encoded) }
        return [UInt8](UnsafeBufferPointer(start: encoded, count: count))
    }
}

/// Lets the C code of an encoder poll for cancellation.
enum EncoderPoll {
    typealias Poll = @convention(c) (UnsafeMutableRawPointer?) -> Int32

    private final class Question {
        let isCancelled: () -> Bool
        var wasStopped = false
        init(_ isCancelled: @escaping () -> Bool) { self.isCancelled = isCancelled }
    }

    /// The encoded bytes, and whether the poll stopped the encoder.
    static func run(
        _ isCancelled: () -> Bool, _ encode: (Poll, UnsafeMutableRawPointer) -> UnsafeMutablePointer<UInt8>?
    ) -> (bytes: UnsafeMutablePointer<UInt8>?, wasStopped: Bool) {
        withoutActuallyEscaping(isCancelled) { isCancelled in
            let question = Question(isCancelled)
            let bytes = encode(
                { context in
                    guard let context else { return 0 }
                    let question = Unmanaged<Question>.fromOpaque(context).takeUnretainedValue()
                    question.wasStopped = question.isCancelled()
                    return question.wasStopped ? 1 : 0
                }, Unmanaged.passUnretained(question).toOpaque())
            return withExtendedLifetime(question) { (bytes, question.wasStopped) }
        }
    }
}
