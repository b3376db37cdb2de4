/// A file's bytes, fetched piece by piece: model files are large, and what they say of themselves is small.
///
/// Keeps the last piece, so that reading on costs no further fetch. Counts the fetches: a file whose parts refer to each other over
/// and over is refused rather than read for hours.
package struct ByteSource {
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

    /// A source of bytes that are in memory.
    package init(_ bytes: [UInt8]) {
        self.init(count: bytes.count) { Array(bytes[$0]) }
    }

    /// Exactly the bytes of a range.
    /// - Throws: where the file ends before, or has been read too often.
    package mutating func bytes(
        at start: Int, count wanted: Int, most: Int = 1 << 20
    ) throws(FactError) -> ArraySlice<UInt8> {
        guard start >= 0, wanted >= 0, start <= count, wanted <= count - start else {
            throw FactError("ends at byte \(count), but it refers to \(wanted) bytes at byte \(start)")
        }
        guard wanted <= most else {
            throw FactError("has a part of \(wanted) bytes at byte \(start): the limit is \(most)")
        }
        if start < windowStart || start + wanted > windowStart + window.count {
            fetches += 1
            guard fetches <= Self.mostFetches else { throw FactError("contains too many references") }
            let end = min(count, start + max(wanted, Self.windowBytes))
            window = fetch(start..<end)
            windowStart = start
            guard window.count >= wanted else { throw FactError("became shorter while it was read") }
        }
        let offset = start - windowStart
        return window[offset..<offset + wanted]
    }

    /// A little-endian integer.
    mutating func integer<T: FixedWidthInteger>(_: T.Type, at start: Int) throws(FactError) -> T {
        let slice = try bytes(at: start, count: MemoryLayout<T>.size)
        var value: T = 0
        for byte in slice.reversed() { value = value << 8 | T(truncatingIfNeeded: byte) }
        return value
    }
}

/// Why a source of facts cannot be read: what follows its name in a sentence.
package struct FactError: Error, Sendable, Hashable {
    package let reason: String

    init(_ reason: String) { self.reason = reason }
}
