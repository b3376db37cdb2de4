internal import FoundationEssentials
public import ImagePipeline

/// An encoded picture: the bytes of a file in a format of `ImageFormat`, or a raw frame. It is decoded when a model
/// needs it.
///
/// The bytes need not be copied, for example from a network buffer: a closure lends them for the duration of a call.
public struct EncodedImage: Sendable {
    /// The size of the file or frame in bytes.
    public let byteCount: Int
    /// The orientation of the stored picture, for example `.right` for a camera's frame without EXIF; nil for that of
    /// the prediction's options.
    public var orientation: ImageOrientation?
    /// The layout of a raw frame, or the error in its description, which is thrown when the picture is used; nil for a
    /// file.
    package var frame: Result<RawFrame, ImageError>?
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
    /// - Parameter orientation: how it is stored; nil for the orientation of the prediction's options.
    public init(_ bytes: [UInt8], orientation: ImageOrientation? = nil) {
        byteCount = bytes.count
        self.orientation = orientation
        lend = { body in bytes.withUnsafeBytes { body($0) } }
    }

    /// A raw frame in an array.
    /// - Parameters:
    ///   - frame: the layout of the bytes. A length that does not fit it is an error of the prediction.
    ///   - orientation: how it is stored; nil for the orientation of the prediction's options.
    public init(_ bytes: [UInt8], frame: RawFrame, orientation: ImageOrientation? = nil) {
        self.init(bytes, orientation: orientation)
        self.frame = .success(frame)
    }

    /// A raw frame in memory of another owner, such as the buffer of a camera (TensorIO's `TIOPixelBuffer`, Core ML's
    /// `CVPixelBuffer`). It is read where it is, by each prediction that uses the picture, and not copied.
    /// - Parameters:
    ///   - memory: the frame, from its first row on. It must stay valid and unchanged until `release` is called.
    ///   - frame: the layout of the memory, with its stride.
    ///   - orientation: how it is stored; nil for the orientation of the prediction's options.
    ///   - release: called once, from any thread, when the last copy of the picture is gone; not before the end of a
    ///     prediction that uses it.
    public init(
        frame: RawFrame, in memory: UnsafeRawBufferPointer, orientation: ImageOrientation? = nil,
        release: @escaping @Sendable () -> Void
    ) {
        let owned = FrameMemory(memory, release: release)
        self.init(byteCount: memory.count, orientation: orientation) { body in
            withExtendedLifetime(owned) { body(owned.memory) }
        }
        self.frame = .success(frame)
    }

    /// A picture of decoded pixels as they are displayed, or a part of one.
    /// - Parameter time: the approximate nanoseconds for scaling it.
    package init(_ pixels: PixelImage, window: PictureWindow? = nil, time: UInt64) {
        self.pixels = pixels
        self.window = window
        orientation = .up
        var demand = DecodeDemand.none
        demand.time = time
        self.demand = demand
        byteCount = 0
        lend = { $0(UnsafeRawBufferPointer(start: nil, count: 0)) }
    }

    /// Reads a picture from a file of at most 1 GiB. Blocks.
    /// - Parameter orientation: how it is stored; nil for the orientation of the prediction's options.
    /// - Throws: ``InferenceError/invalidInput(name:reason:)`` if the file cannot be read.
    public init(contentsOf path: String, orientation: ImageOrientation? = nil) throws(InferenceError) {
        switch BundleFile.read(path, maximum: 1 << 30) {
        case .success(let data): self.init(Array(data), orientation: orientation)
        case .failure(let problem): throw .invalidInput(name: path, reason: problem.reason)
        }
    }

    /// A picture with bytes that belong to another owner.
    /// - Parameters:
    ///   - byteCount: the number of bytes.
    ///   - orientation: how it is stored; nil for the orientation of the prediction's options.
    ///   - lend: calls its argument once, with the bytes, before it returns. It may be called several times, from any
    ///     thread.
    public init(
        byteCount: Int, orientation: ImageOrientation? = nil,
        lend: @escaping @Sendable ((UnsafeRawBufferPointer) -> Void) -> Void
    ) {
        self.byteCount = byteCount
        self.orientation = orientation
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

/// Memory that belongs to another owner, until the last picture that uses it is gone.
///
/// `@unchecked Sendable`: nothing changes, the memory is only read, and the owner keeps it valid and unchanged until
/// `deinit` calls `release`, once, after the last reference is gone.
private final class FrameMemory: @unchecked Sendable {
    let memory: UnsafeRawBufferPointer
    private let release: @Sendable () -> Void

    init(_ memory: UnsafeRawBufferPointer, release: @escaping @Sendable () -> Void) {
        self.memory = memory
        self.release = release
    }

    deinit { release() }
}
