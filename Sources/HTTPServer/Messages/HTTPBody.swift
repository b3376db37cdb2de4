import CSystem
import Glibc

/// The content of a request, in one contiguous buffer into which the socket was read directly.
///
/// Its memory counts against the server's budget for all bodies until the last reference is released, so release it as
/// soon as it is decoded. Received bytes count, in whole pages. Announced bytes do not, because pages that were never
/// written take no memory. A small (heap) buffer counts as a whole, and a reused one with at least the pages that
/// earlier bodies wrote.
public final class HTTPBody: @unchecked Sendable {
    // Safe to share although it has mutable parts: only the event loop that receives the body calls the mutating
    // methods below (they are not public), and it stops before it hands the object to another thread. Starting the task
    // orders its writes before every later read, and the loop then drops its reference. After that only `releaseMemory`
    // changes the body. The one task that has the request calls it after its own last read, when another request's
    // equal body replaces this one and before any other task gets this one.

    /// The number of bytes.
    public private(set) var count = 0
    private var base: UnsafeMutableRawPointer?
    private var capacity = 0
    /// True if the buffer is mapped, false if it is from the heap.
    private var isMapped = false
    /// The number of bytes at the start of the buffer that an earlier body has written.
    private var resident = 0
    private var charged = 0
    /// The maximum length of the body, which is also the most that it takes of the budget: whole pages could be more
    /// than the budget.
    private let longest: Int
    private let budget: ByteBudget?

    /// The size up to which a buffer comes from the heap, which is faster. Larger buffers are mapped: they take memory
    /// only as they are written, they grow by moving page tables instead of bytes, and all but a few return to the
    /// kernel at once when they are released.
    private static let heapMost = 16 << 10
    private static let page = 4096

    /// An empty body.
    public static let empty = HTTPBody(budget: nil)

    /// A body for tests and other transports.
    public convenience init(_ bytes: some Sequence<UInt8>) {
        self.init(budget: nil)
        let bytes = Array(bytes)
        if reserve(bytes.count) { bytes.withUnsafeBytes { append($0) } }
    }

    /// A body of at most `longest` bytes.
    package init(budget: ByteBudget?, longest: Int = .max) {
        self.budget = budget
        self.longest = longest
    }

    /// An empty body whose memory counts against the budget of another body: for data made from that body.
    package convenience init(sharingBudgetOf body: HTTPBody, longest: Int) {
        self.init(budget: body.budget, longest: longest)
    }

    deinit { free() }

    /// Releases the memory before the last reference is gone. The caller must be the only reader; the body is empty
    /// afterwards.
    package func releaseMemory() {
        // Do not write without a buffer: `empty` is shared by all threads.
        guard base != nil else { return }
        free()
        (base, count, capacity, charged, resident) = (nil, 0, 0, 0, 0)
    }

    private func free() {
        if let base {
            if isMapped {
                let written = max(resident, Self.pages(count))
                MappedBuffers.give(MappedBuffer(base: base, capacity: capacity, resident: min(written, capacity)))
            } else {
                Glibc.free(base)
            }
        }
        if charged > 0 { budget?.release(charged, body: ObjectIdentifier(self)) }
    }

    /// Calls `read` with the bytes, which are valid only during the call.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ read: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try read(UnsafeRawBufferPointer(start: base, count: base == nil ? 0 : count))
    }

    // MARK: Receiving

    /// The bytes of the budget that the body holds.
    package var bytesCharged: Int { charged }

    /// The claim on the budget until the last byte has arrived.
    package var claim: ByteBudget.Claim { budget?.claim(ofLength: longest, hasBegun: charged > 0) ?? .small }

    /// Makes room for `more` bytes, in memory and in the budget, in a buffer of `target` bytes. `hasArrived`: the last
    /// byte of the body has arrived.
    ///
    /// - Returns: how many of these bytes may be received now: 0 if the body has to wait for the budget; nil if the
    ///   machine has no memory.
    package func makeRoom(_ more: Int, target: Int, hasArrived: Bool = false) -> Int? {
        let claim = hasArrived ? .arrived : claim
        let target = max(target, count + more)
        if target > capacity {
            if target <= Self.heapMost {
                guard charge(upTo: target, claim) else { return 0 }
                guard let moved = realloc(base, target) else { return nil }
                base = moved
                capacity = target
            } else {
                guard map(target, claim) else { return nil }
            }
        }
        if charge(upTo: footprint(count + more), claim) { return more }
        return min(more, max(0, charged - count))
    }

    /// Makes room for `size` bytes in total. Returns false if there is no memory, or no room in the budget.
    package func reserve(_ size: Int) -> Bool {
        guard size > capacity else { return true }
        return makeRoom(size - count, target: size) == size - count
    }

    /// The unused end of the buffer.
    var freeSpace: UnsafeMutableRawBufferPointer {
        guard let base else { return UnsafeMutableRawBufferPointer(start: nil, count: 0) }
        return UnsafeMutableRawBufferPointer(start: base + count, count: capacity - count)
    }

    /// Counts `size` bytes that were written to `freeSpace`.
    func advance(by size: Int) {
        count += min(size, capacity - count)
    }

    /// Copies bytes to the end. Does nothing if there is no room for all of them.
    package func append(_ bytes: UnsafeRawBufferPointer) {
        guard let base, let from = bytes.baseAddress, bytes.count <= capacity - count else { return }
        (base + count).copyMemory(from: from, byteCount: bytes.count)
        count += bytes.count
    }

    /// Releases the budget's bytes that were reserved and did not arrive.
    package func trim() {
        let surplus = charged - footprint(count)
        guard surplus > 0 else { return }
        charged -= surplus
        budget?.trim(surplus, body: ObjectIdentifier(self))
    }

    /// Marks the body as complete, so that another one may overdraw the budget.
    func complete() {
        trim()
        budget?.complete(0, body: ObjectIdentifier(self))
    }

    // MARK: Memory

    /// The memory that a buffer with `count` written bytes takes.
    private func footprint(_ count: Int) -> Int {
        isMapped ? max(resident, min(Self.pages(count), longest)) : capacity
    }

    private static func pages(_ count: Int) -> Int { (count + page - 1) & ~(page - 1) }

    private func charge(upTo bytes: Int, _ claim: ByteBudget.Claim, isOptional: Bool = false) -> Bool {
        guard let budget, bytes > charged else { return true }
        let body = ObjectIdentifier(self)
        guard budget.take(bytes - charged, for: claim, isOptional: isOptional, body: body) else { return false }
        charged = bytes
        return true
    }

    /// Moves the bytes to a mapped buffer of at least this size.
    private func map(_ size: Int, _ claim: ByteBudget.Claim) -> Bool {
        if isMapped, let old = base {
            let larger = MappedBuffers.sizeClass(size).capacity
            guard let moved = csys_remap(old, capacity, larger) else { return false }
            base = moved
            capacity = larger
            return true
        }
        guard let buffer = MappedBuffers.take(size, mayTake: { self.charge(upTo: $0, claim, isOptional: true) }) else {
            return false
        }
        if let old = base {
            buffer.base.copyMemory(from: old, byteCount: count)
            Glibc.free(old)
        }
        base = buffer.base
        capacity = buffer.capacity
        resident = buffer.resident
        isMapped = true
        return true
    }
}
