/// The bytes of a file, in memory or fetched in pieces: model files are large, but their descriptions are small.
///
/// Caches the last piece, so that sequential reads need no further fetch. Counts the fetches: a file with parts that
/// refer to each other endlessly is refused. Not thread-safe.
package final class ByteSource {
    /// The size of the file in bytes.
    package let count: Int
    /// Fetches a range within the file; returns fewer bytes if the file was truncated, and no bytes if it cannot be
    /// read.
    private let fetch: (Range<Int>) -> [UInt8]
    private var window: [UInt8] = []
    private var windowStart = 0
    private var fetches = 0

    static let windowBytes = 64 << 10
    static let maximumFetches = 20_000

    /// - Parameter fetch: called with ranges within `0..<count`.
    package init(count: Int, fetch: @escaping (Range<Int>) -> [UInt8]) {
        self.count = max(0, count)
        self.fetch = fetch
    }

    /// A source of bytes in memory, which are not copied.
    package init(_ bytes: [UInt8]) {
        count = bytes.count
        // The window holds the whole file: nothing is fetched.
        fetch = { _ in [] }
        window = bytes
    }

    /// Reads exactly the bytes of a range.
    /// - Throws: if the file ends before, or the number of fetches is exceeded.
    package func bytes(
        at start: Int, count requestedCount: Int, maximum: Int = 1 << 20
    ) throws(FormatError) -> ArraySlice<UInt8> {
        guard start >= 0, requestedCount >= 0, start <= count, requestedCount <= count - start else {
            throw FormatError("ends at byte \(count), but it refers to \(requestedCount) bytes at byte \(start)")
        }
        guard requestedCount <= maximum else {
            throw FormatError("has a part of \(requestedCount) bytes at byte \(start): the limit is \(maximum)")
        }
        if start < windowStart || start + requestedCount > windowStart + window.count {
            fetches += 1
            guard fetches <= Self.maximumFetches else { throw FormatError("contains too many references") }
            let end = min(count, start + max(requestedCount, Self.windowBytes))
            window = fetch(start..<end)
            windowStart = start
            guard window.count >= requestedCount else { throw FormatError("became shorter while it was read") }
        }
        let offset = start - windowStart
        return window[offset..<offset + requestedCount]
    }

    /// Reads a little-endian integer.
    package func integer<T: FixedWidthInteger>(_: T.Type, at start: Int) throws(FormatError) -> T {
        let slice = try bytes(at: start, count: MemoryLayout<T>.size)
        var value: T = 0
        for byte in slice.reversed() { value = value << 8 | T(truncatingIfNeeded: byte) }
        return value
    }
}
