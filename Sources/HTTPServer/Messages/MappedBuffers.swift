import CSystem
import SystemSupport

/// Mapped memory for bodies, and a small cache of it for later bodies.
///
/// Each fresh page costs a fault: for a body of half a megabyte that is a tenth of the cost of its request. The cache
/// is limited to `maximum` bytes, whatever the clients do; all other memory returns to the kernel at once. Data of
/// earlier bodies cannot be read: a body gives access only to the bytes that were written to it.
enum MappedBuffers {
    /// The maximum of all cached bytes, which limits the memory of an idle server.
    private static let maximum = 4 << 20

    private struct Kept: @unchecked Sendable {
        // Safe to send although it has pointers: a value of this type exists only in `kept`, and is read and changed
        // with its lock held. A cached buffer has no other owner: the code that adds it has dropped its reference
        // (`HTTPBody.free`), and the code that takes or unmaps it has removed it here before the lock is released.

        /// By size class; the buffer that was cached first comes first.
        var buffers: [[MappedBuffer]] = Array(repeating: [], count: 64)
        var bytes = 0
        /// The class from which the last surplus buffer was taken. The classes take turns, because the next bodies may
        /// have another size.
        var turn = 0
    }

    private static let kept = Guarded(Kept())

    /// Memory of at least `size` bytes; nil if the kernel has none. `mayTake` decides whether a cached buffer with that
    /// many resident bytes may be used; a fresh one has no resident bytes.
    static func take(_ size: Int, mayTake: (Int) -> Bool) -> MappedBuffer? {
        let (capacity, index) = sizeClass(size)
        let used = kept.withLock { kept -> MappedBuffer? in
            guard let buffer = kept.buffers[index].last else { return nil }
            kept.buffers[index].removeLast()
            kept.bytes -= buffer.resident
            return buffer
        }
        if let used {
            if mayTake(used.resident) { return used }
            give(used)
        }
        return csys_map(capacity).map { MappedBuffer(base: $0, capacity: capacity, resident: 0) }
    }

    /// Unmaps all cached buffers: for a server that has been idle for a while.
    static func releaseAll() {
        let buffers = kept.withLock { kept in
            defer { kept = Kept() }
            return kept.buffers
        }
        for buffer in buffers.joined() { csys_unmap(buffer.base, buffer.capacity) }
    }

    /// Caches or unmaps memory from ``take(_:mayTake:)``, or memory remapped from it.
    static func give(_ buffer: MappedBuffer) {
        let (capacity, index) = sizeClass(buffer.capacity)
        // A buffer with few resident pages would save the next body little.
        guard capacity == buffer.capacity, buffer.resident >= capacity / 2, buffer.resident <= maximum else {
            return csys_unmap(buffer.base, buffer.capacity)
        }
        let surplus = kept.withLock { kept in
            kept.buffers[index].append(buffer)
            kept.bytes += buffer.resident
            var surplus: [MappedBuffer] = []
            while kept.bytes > maximum {
                kept.turn = (kept.turn + 1) % kept.buffers.count
                guard !kept.buffers[kept.turn].isEmpty else { continue }
                let oldest = kept.buffers[kept.turn].removeFirst()
                kept.bytes -= oldest.resident
                surplus.append(oldest)
            }
            return surplus
        }
        for buffer in surplus { csys_unmap(buffer.base, buffer.capacity) }
    }

    /// The capacity of a buffer for `size` bytes, and the index of its class. Capacities are 16 KiB times 1, 1.5, 2, 3,
    /// 4, 6, ...
    static func sizeClass(_ size: Int) -> (capacity: Int, index: Int) {
        var (capacity, index) = (16 << 10, 0)
        while capacity < size, index < 62 {
            if capacity + capacity / 2 >= size { return (capacity + capacity / 2, index + 1) }
            capacity *= 2
            index += 2
        }
        return (capacity, index)
    }
}

/// Mapped memory, and the number of bytes at its start that may be resident because they were written at some time.
struct MappedBuffer: @unchecked Sendable {
    // Safe to send: the members never change, and the memory has one owner at a time. It moves from a body's `free`
    // through the lock of `MappedBuffers.kept` to the next body, and its previous owner does not touch it again.
    let base: UnsafeMutableRawPointer
    let capacity: Int
    let resident: Int
}
