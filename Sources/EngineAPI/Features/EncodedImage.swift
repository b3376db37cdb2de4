internal import FoundationEssentials
package import ImagePipeline

/// An encoded picture: the bytes of a file in a format of `ImageFormat`. It is decoded when a model needs it.
///
/// The bytes need not be copied, for example from a network buffer: a closure lends them for the duration of a call.
public struct EncodedImage: Sendable {
    /// The size of the file in bytes.
    public let byteCount: Int
    /// The memory and time for decoding it; nil until its header was read.
    package var demand: DecodeDemand?
    /// Nanoseconds of inference if that depends on its size; 0 until its header was read.
    package var inferenceTime: UInt64 = 0
    /// The pixels, if a separate process has decoded the picture.
    package var pixels: PixelImage?
    /// The part of the pixels that is the picture; nil for all of them.
    package var window: PictureWindow?
    @usableFromInline
    let lend: @Sendable ((UnsafeRawBufferPointer) -> Void) -> Void

    /// A picture in an array.
    public init(_ bytes: [UInt8]) {
        byteCount = bytes.count
        lend = { body in bytes.withUnsafeBytes { body($0) } }
    }

    /// A picture of decoded pixels, or a part of one.
    /// - Parameter time: the approximate nanoseconds for scaling it.
    package init(_ pixels: PixelImage, window: PictureWindow? = nil, time: UInt64) {
        self.pixels = pixels
        self.window = window
        var demand = DecodeDemand.none
        demand.time = time
        self.demand = demand
        byteCount = 0
        lend = { $0(UnsafeRawBufferPointer(start: nil, count: 0)) }
    }

    /// Reads a picture from a file of at most 1 GiB. Blocks.
    /// - Throws: ``InferenceError/invalidInput(name:reason:)`` if the file cannot be read.
    public init(contentsOf path: String) throws(InferenceError) {
        switch BundleFile.read(path, maximum: 1 << 30) {
        case .success(let data): self.init(Array(data))
        case .failure(let problem): throw .invalidInput(name: path, reason: problem.reason)
        }
    }

    /// A picture with bytes that belong to another owner.
    /// - Parameters:
    ///   - byteCount: the number of bytes.
    ///   - lend: calls its argument once, with the bytes, before it returns. It may be called several times, from any
    ///     thread.
    public init(byteCount: Int, lend: @escaping @Sendable ((UnsafeRawBufferPointer) -> Void) -> Void) {
        self.byteCount = byteCount
        self.lend = lend
    }

    /// Calls `body` with the bytes; the pointer is valid only during the call.
    @inlinable  // Else each call from another module looks up the metadata of its types: 1,500 instructions a request.
    public func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        var result: Result<R, E>?
        lend { bytes in
            do throws(E) {
                result = .success(try body(bytes))
            } catch {
                result = .failure(error)
            }
        }
        // If the closure does not call its argument, the picture is empty.
        guard let result else { return try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        return try result.get()
    }
}
