/// A file's bytes, in memory or fetched piece by piece: model files are large, and what they say of themselves is
/// small.
///
/// Keeps the last piece, so that reading on costs no further fetch. Counts the fetches: a file whose parts refer to
/// each other over and over is refused rather than read for hours. To be used by one thread at a time.
package final class ByteSource {
    /// Bytes of the file.
    package let count: Int
    /// The bytes of a range within the file; fewer where the file has become shorter, none where it cannot be read.
    private let fetch: (Range<Int>) -> [UInt8]
    private var window: [UInt8] = []
    private var windowStart = 0
    private var fetches = 0

    static let windowBytes = 64 << 10
    static let mostFetches = 20_000

    /// - Parameter fetch: called with ranges within `0..<count`.
    package init(count: Int, fetch: @escaping (Range<Int>) -> [UInt8]) {
        self.count = max(0, count)
        self.fetch = fetch
    }

    /// A source of bytes that are in memory. They are not copied.
    package init(_ bytes: [UInt8]) {
        count = bytes.count
        // The one piece is all there is: nothing is fetched.
        fetch = { _ in [] }
        window = bytes
    }

    /// Exactly the bytes of a range.
    /// - Throws: where the file ends before, or has been read too often.
    package func bytes(
        at start: Int, count wanted: Int, most: Int = 1 << 20
    ) throws(FormatError) -> ArraySlice<UInt8> {
        guard start >= 0, wanted >= 0, start <= count, wanted <= count - start else {
            throw FormatError("ends at byte \(count), but it refers to \(wanted) bytes at byte \(start)")
        }
        guard wanted <= most else {
            throw FormatError("has a part of \(wanted) bytes at byte \(start): the limit is \(most)")
        }
        if start < windowStart || start + wanted > windowStart + window.count {
            fetches += 1
            guard fetches <= Self.mostFetches else { throw FormatError("contains too many references") }
            let end = min(count, start + max(wanted, Self.windowBytes))
            window = fetch(start..<end)
            windowStart = start
            guard window.count >= wanted else { throw FormatError("became shorter while it was read") }
        }
        let offset = start - windowStart
        return window[offset..<offset + wanted]
    }

    /// A little-endian integer.
    package func integer<T: FixedWidthInteger>(_: T.Type, at start: Int) throws(FormatError) -> T {
        let slice = try bytes(at: start, count: MemoryLayout<T>.size)
        var value: T = 0
        for byte in slice.reversed() { value = value << 8 | T(truncatingIfNeeded: byte) }
        return value
    }
}
