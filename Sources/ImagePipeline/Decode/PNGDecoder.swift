import CPNG

/// libpng's decoder, for one picture.
final class PNGDecoder {
    private let handle: OpaquePointer
    let header: cpng_header
    /// True if missing rows at the end stay as they were instead of causing an error.
    let toleratesTruncation: Bool
    private var isTruncated = false

    /// Reads the header. The bytes must outlive the decoder.
    init(
        _ bytes: UnsafeRawBufferPointer, width: Int, height: Int, toleratesTruncation: Bool
    ) throws(ImageError) {
        guard let start = bytes.bindMemory(to: UInt8.self).baseAddress, let handle = cpng_create(start, bytes.count)
        else {
            throw .outOfMemory
        }
        if toleratesTruncation { cpng_tolerate(handle) }
        var header = cpng_header()
        let status = cpng_open(handle, UInt32(clamping: width), UInt32(clamping: height), &header)
        guard status == CPNG_OK else {
            let error = Self.error(status, handle, bytes.count)
            cpng_destroy(handle)
            throw error
        }
        self.handle = handle
        self.header = header
        self.toleratesTruncation = toleratesTruncation
        count = bytes.count
    }

    private let count: Int

    deinit {
        cpng_destroy(handle)
    }

    /// Reads the next rows of the current pass.
    func read(_ destination: UnsafeMutablePointer<UInt8>, stride: Int, rows: Int) throws(ImageError) {
        if isTruncated { return }
        let status = cpng_read(handle, destination, stride, UInt32(clamping: rows))
        if status == CPNG_TRUNCATED, toleratesTruncation {
            isTruncated = true
            return
        }
        guard status == CPNG_OK else { throw Self.error(status, handle, count) }
    }

    private static func error(_ status: cpng_status, _ handle: OpaquePointer, _ count: Int) -> ImageError {
        if status == CPNG_TRUNCATED { return .truncated("the PNG ends at byte \(count), within its pixels") }
        return .corrupt("PNG: \(String(cString: cpng_message(handle)))")
    }
}
