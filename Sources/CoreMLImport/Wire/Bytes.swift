internal import FileFormats

/// A slice of a shared buffer: slicing copies nothing.
///
/// Sendable: the buffer is not written after initialization.
package struct Bytes: Sendable {
    private let storage: Storage
    private let start: Int
    package let count: Int

    /// Memory that is released with its last slice.
    private final class Storage: @unchecked Sendable {
        // Safe to share: the members do not change; the memory is only read after initialization (all initializers of
        // `Bytes` fill it first, and a caller that lends memory must not write to it); `deinit`, which has the last
        // reference, releases it once.
        let memory: UnsafeRawBufferPointer
        let release: @Sendable (UnsafeRawBufferPointer) -> Void

        init(_ memory: UnsafeRawBufferPointer, release: @escaping @Sendable (UnsafeRawBufferPointer) -> Void) {
            self.memory = memory
            self.release = release
        }

        deinit { release(memory) }
    }

    private init(_ storage: Storage, start: Int, count: Int) {
        self.storage = storage
        self.start = start
        self.count = count
    }

    /// Wraps memory of the caller, which must not write to it until `release` is called, on any thread.
    package init(
        lending memory: UnsafeRawBufferPointer, release: @escaping @Sendable (UnsafeRawBufferPointer) -> Void
    ) {
        self.init(Storage(memory, release: release), start: 0, count: memory.count)
    }

    /// Allocates `count` zeroed bytes, which `fill` writes.
    package init(count: Int, fill: (UnsafeMutableRawBufferPointer) -> Void) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 0)
        fill(memory)
        self.init(Storage(UnsafeRawBufferPointer(memory)) { $0.deallocate() }, start: 0, count: count)
    }

    package init(_ bytes: [UInt8]) {
        self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
    }

    /// Copies the elements in the machine's byte order, little-endian on all supported machines, as in the files.
    package init<Element: BitwiseCopyable>(of elements: [Element]) {
        self = elements.withUnsafeBytes { source in Bytes(count: source.count) { $0.copyMemory(from: source) } }
    }

    package static let empty = Bytes([])
    package var isEmpty: Bool { count == 0 }
    /// The offset of the first byte in the buffer that all slices share, which is its offset in the file.
    package var offset: Int { start }

    /// The bytes of `range`; `nil` if it is not within `0..<count`.
    package subscript(range: Range<Int>) -> Bytes? {
        guard range.lowerBound >= 0, range.upperBound <= count else { return nil }
        return Bytes(storage, start: start + range.lowerBound, count: range.count)
    }

    /// The byte at `index`; `nil` if it is not within `0..<count`.
    package subscript(index: Int) -> UInt8? {
        index >= 0 && index < count ? storage.memory[start + index] : nil
    }

    /// Calls `body` with the memory, which may be unaligned.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(rebasing: storage.memory[start..<start + count]))
    }

    /// Copies the bytes to elements of another type; bytes after the last whole element are ignored.
    package func elements<Element: BitwiseCopyable>(_ type: Element.Type = Element.self) -> [Element] {
        let stride = MemoryLayout<Element>.stride
        return withUnsafeBytes { bytes in
            (0..<bytes.count / stride).map { bytes.loadUnaligned(fromByteOffset: $0 * stride, as: Element.self) }
        }
    }

    /// The concatenation of both. Copies, unless one is empty.
    package func joined(with other: Bytes) -> Bytes {
        if isEmpty { return other }
        if other.isEmpty { return self }
        return Bytes(count: count + other.count) { target in
            withUnsafeBytes { target.copyMemory(from: $0) }
            other.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: target[count...]).copyMemory(from: $0) }
        }
    }

    package var text: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}

extension Bytes {
    /// Throws if the bytes look like another kind of file.
    func refuseForeignContent() throws(Problem) {
        let head = self[0..<Swift.min(count, ForeignFile.headSize)] ?? .empty
        if let reason = ForeignFile.reason(head.elements(), isBinary: true) { throw Problem(reason) }
    }
}
