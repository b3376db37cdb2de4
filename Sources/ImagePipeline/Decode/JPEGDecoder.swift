import CJPEG

/// libjpeg's decoder, reused for one picture after another.
final class JPEGDecoder {
    private var handle: OpaquePointer?

    init() {}

    deinit {
        cjpeg_destroy(handle)
    }

    /// Reads the header.
    func open(_ bytes: UnsafeRawBufferPointer, tolerant: Bool) throws(ImageError) -> cjpeg_header {
        if handle == nil { handle = cjpeg_create() }
        guard let handle else { throw .outOfMemory }
        var header = cjpeg_header()
        let start = bytes.bindMemory(to: UInt8.self).baseAddress
        try check(cjpeg_open(handle, start, bytes.count, tolerant ? 1 : 0, &header))
        return header
    }

    /// Begins to decode. Returns the size of the scaled picture.
    ///
    /// - Parameter columns: the number of columns from the left that are needed; if it is less than the width,
    ///   ``crop(_:)`` must follow.
    func start(
        scale: Int, output: cjpeg_output, columns: Int = .max, maxScans: Int, isCancelled: () -> Bool
    ) throws(ImageError) -> (width: Int, height: Int) {
        guard let handle else { throw .outOfMemory }
        var width: UInt32 = 0
        var height: UInt32 = 0
        // The C function calls back only while it runs, so the pointer to the closure does not outlive this scope.
        let status = withoutActuallyEscaping(isCancelled) { escapable in
            var poll = Poll(isCancelled: escapable)
            return withUnsafeMutablePointer(to: &poll) { context in
                cjpeg_start(
                    handle, UInt32(clamping: scale), output, UInt32(clamping: columns), UInt32(clamping: maxScans),
                    { context in
                        context?.assumingMemoryBound(to: Poll.self).pointee.isCancelled() == true ? 1 : 0
                    }, context, &width, &height)
            }
        }
        if status == CJPEG_TOO_MANY_SCANS { throw .tooManyScans(limit: maxScans) }
        try check(status)
        return (Int(width), Int(height))
    }

    /// Narrows the columns. Returns the columns that will be decoded, which include the requested ones.
    func crop(_ columns: Range<Int>) throws(ImageError) -> Range<Int> {
        var x = UInt32(clamping: columns.lowerBound)
        var width = UInt32(clamping: columns.count)
        try check(cjpeg_crop(handle, &x, &width))
        return Int(x)..<Int(x) + Int(width)
    }

    func skip(rows: Int) throws(ImageError) {
        try check(cjpeg_skip(handle, UInt32(clamping: rows)))
    }

    func read(_ destination: UnsafeMutablePointer<UInt8>, stride: Int, rows: Int) throws(ImageError) {
        try check(cjpeg_read(handle, destination, stride, UInt32(clamping: rows)))
    }

    /// Releases the reference to the picture's bytes.
    func close() {
        if let handle { cjpeg_close(handle) }
    }

    private struct Poll {
        let isCancelled: () -> Bool
    }

    private func check(_ status: cjpeg_status) throws(ImageError) {
        guard status != CJPEG_OK else { return }
        let reason = handle.map { String(cString: cjpeg_message($0)) } ?? ""
        let offset = handle.map { cjpeg_offset($0) } ?? 0
        switch status {
        case CJPEG_TRUNCATED: throw .truncated("the JPEG ends at byte \(offset), within its pixels")
        case CJPEG_CANCELLED: throw .cancelled
        case CJPEG_NO_MEMORY: throw .outOfMemory
        default: throw .corrupt("JPEG, at byte \(offset): \(reason)")
        }
    }
}
