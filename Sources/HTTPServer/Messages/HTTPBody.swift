import CSystem
import Glibc

/// A request's content: one contiguous buffer, into which the socket was read directly.
///
/// Its bytes count against the server's budget for all bodies from the moment they are received until the last
/// reference to it is gone: let go of it as soon as it is decoded.
public final class HTTPBody: @unchecked Sendable {
    // Safe to share, though it has mutable parts: only the event loop that receives the body calls the mutating
    // methods below (they are not public), and it stops doing so before it hands the object to another thread; the
    // hand-over (starting the task) orders its writes before every later read. From then on nothing changes.

    /// The number of bytes.
    public private(set) var count = 0
    private var base: UnsafeMutableRawPointer?
    private var capacity = 0
    private var charged = 0
    private let budget: ByteBudget?

    /// Buffers from this size on are mapped: all but a few go back to the kernel the moment they are let go of, and they grow
    /// by moving page tables instead of bytes. Below it, malloc is quicker.
    private static let mappedFrom = 128 << 10

    /// A body that nothing was received for.
    public static let empty = HTTPBody(budget: nil)

    /// A body of its own, as a test or another transport makes it.
    public convenience init(_ bytes: some Sequence<UInt8>) {
        self.init(budget: nil)
        let bytes = Array(bytes)
        if reserve(bytes.count) { bytes.withUnsafeBytes { append($0) } }
    }

    package init(budget: ByteBudget?) {
        self.budget = budget
    }

    deinit {
        if let base {
            if capacity >= Self.mappedFrom { MappedBuffers.give(base, capacity) } else { free(base) }
        }
        if charged > 0 { budget?.release(charged, body: ObjectIdentifier(self)) }
    }

    /// The bytes, for the duration of the call.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ read: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try read(UnsafeRawBufferPointer(start: base, count: base == nil ? 0 : count))
    }

    // MARK: Receiving

    /// Bytes of budget that are taken for it.
    var bytesCharged: Int { charged }

    /// Size of the buffer.
    var capacityNow: Int { capacity }

    /// Takes budget for `more` bytes. False: there is none; whoever asked waits.
    func charge(_ more: Int) -> Bool {
        guard more > 0, let budget else { return true }
        guard budget.take(more, body: ObjectIdentifier(self)) else { return false }
        charged += more
        return true
    }

    /// Gives back what was taken beyond the bytes that came, and the right to overdraw: the body is whole.
    func settle() {
        budget?.settle(charged - count, body: ObjectIdentifier(self))
        charged = min(charged, count)
    }

    /// Makes room for `size` bytes altogether. False: the machine has no memory for it.
    package func reserve(_ size: Int) -> Bool {
        guard size > capacity else { return true }
        if size < Self.mappedFrom {
            guard let moved = realloc(base, size) else { return false }
            base = moved
            capacity = size
            return true
        }
        let size = (size + 4095) & ~4095
        if let old = base, capacity >= Self.mappedFrom {
            guard let moved = csys_remap(old, capacity, size) else { return false }
            base = moved
            capacity = size
        } else {
            guard let mapped = MappedBuffers.take(size) else { return false }
            if let old = base {
                mapped.base.copyMemory(from: old, byteCount: count)
                free(old)
            }
            base = mapped.base
            capacity = mapped.capacity
        }
        return true
    }

    /// Room that is left in the buffer.
    var freeSpace: UnsafeMutableRawBufferPointer {
        guard let base else { return UnsafeMutableRawBufferPointer(start: nil, count: 0) }
        return UnsafeMutableRawBufferPointer(start: base + count, count: capacity - count)
    }

    /// `size` bytes were written to `freeSpace`.
    func advance(by size: Int) {
        count += min(size, capacity - count)
    }

    /// Copies bytes in; there must be room.
    package func append(_ bytes: UnsafeRawBufferPointer) {
        guard let base, let from = bytes.baseAddress, bytes.count <= capacity - count else { return }
        (base + count).copyMemory(from: from, byteCount: bytes.count)
        count += bytes.count
    }
}
