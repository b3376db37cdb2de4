internal import FileFormats

/// A part of a buffer that many parts share: slicing copies nothing.
///
/// Sendable: the buffer is never written after it was made.
package struct Bytes: Sendable {
    private let storage: Storage
    private let start: Int
    package let count: Int

    /// Memory that is released with the last slice of it.
    private final class Storage: @unchecked Sendable {
        // Safe to share: the members never change, the memory is only read once it is here (all initializers of `Bytes`
        // fill it before; who lends memory promises not to write to it), and `deinit`, which has the last reference,
        // releases it once.
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

    /// Memory that the caller lends: it must not be written to until `release` is called, which may happen on any
    /// thread.
    package init(
        lending memory: UnsafeRawBufferPointer, release: @escaping @Sendable (UnsafeRawBufferPointer) -> Void
    ) {
        self.init(Storage(memory, release: release), start: 0, count: memory.count)
    }

    /// Memory of `count` bytes that `fill` writes. It is zeroed first.
    package init(count: Int, fill: (UnsafeMutableRawBufferPointer) -> Void) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 0)
        fill(memory)
        self.init(Storage(UnsafeRawBufferPointer(memory)) { $0.deallocate() }, start: 0, count: count)
    }

    package init(_ bytes: [UInt8]) {
        self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
    }

    /// The elements' memory, in the machine's byte order (little-endian wherever Ocelli runs, as in the files).
    package init<Element: BitwiseCopyable>(of elements: [Element]) {
        self = elements.withUnsafeBytes { source in Bytes(count: source.count) { $0.copyMemory(from: source) } }
    }

    package static let empty = Bytes([])
    package var isEmpty: Bool { count == 0 }
    /// The place of its first byte in the buffer that all slices share: in the file.
    package var offset: Int { start }

    /// The bytes of `range`, which must be within `0..<count`; `nil` where it is not.
    package subscript(range: Range<Int>) -> Bytes? {
        guard range.lowerBound >= 0, range.upperBound <= count else { return nil }
        return Bytes(storage, start: start + range.lowerBound, count: range.count)
    }

    /// The byte at `index`; `nil` outside of `0..<count`.
    package subscript(index: Int) -> UInt8? {
        index >= 0 && index < count ? storage.memory[start + index] : nil
    }

    /// Lends the memory; it may be unaligned.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(rebasing: storage.memory[start..<start + count]))
    }

    /// A copy as elements of another type; bytes after the last whole element are left out.
    package func elements<Element: BitwiseCopyable>(_ type: Element.Type = Element.self) -> [Element] {
        let stride = MemoryLayout<Element>.stride
        return withUnsafeBytes { bytes in
            (0..<bytes.count / stride).map { bytes.loadUnaligned(fromByteOffset: $0 * stride, as: Element.self) }
        }
    }

    /// Both one after the other. Copies, where neither is empty.
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
    /// Throws where the bytes are those of another kind of file.
    func refuseForeignContent() throws(Problem) {
        let head = self[0..<Swift.min(count, ForeignFile.headSize)] ?? .empty
        if let reason = ForeignFile.reason(head.elements(), isBinary: true) { throw Problem(reason) }
    }
}
