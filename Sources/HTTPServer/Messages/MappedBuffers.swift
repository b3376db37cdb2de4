import CSystem
import SystemSupport

/// Mapped memory for bodies. Some of it is kept for later bodies.
///
/// Fresh pages cost a fault each: for a body of half a megabyte that is a tenth of all that a request costs. What is
/// kept is little, whatever the clients do; the rest is returned to the kernel at once. Data of earlier bodies cannot
/// be read: a body gives access only to the bytes that were written to it.
enum MappedBuffers {
    /// Bytes that are kept in all, so that a server at rest holds no more than this.
    private static let most = 4 << 20

    private struct Kept: @unchecked Sendable {
        // Safe to send, though pointers are not: a value of this type is only ever inside `kept`, and is read and
        // changed with its lock held. A buffer in it has no other owner: who gives one has no reference to it any more
        // (`HTTPBody.free`), and who takes one, or unmaps it, has removed it here before the lock is released.

        /// By class of size, the one kept for longest first.
        var buffers: [[MappedBuffer]] = Array(repeating: [], count: 64)
        var bytes = 0
        /// The class that the next surplus is taken from: each in turn, for bodies of another size may come now.
        var turn = 0
    }

    private static let kept = Guarded(Kept())

    /// Memory of at least `size` bytes, nil if the kernel has none. `mayTake` is asked whether a buffer with so many
    /// resident bytes may be used; a fresh one has none.
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

    /// Gives what is kept back to the kernel: for a server that has had nothing to do for a while.
    static func releaseAll() {
        let buffers = kept.withLock { kept in
            defer { kept = Kept() }
            return kept.buffers
        }
        for buffer in buffers.joined() { csys_unmap(buffer.base, buffer.capacity) }
    }

    /// Takes memory back that ``take(_:mayTake:)`` gave, or that was remapped from it.
    static func give(_ buffer: MappedBuffer) {
        let (capacity, index) = sizeClass(buffer.capacity)
        // One of which little was written to would save its next body little.
        guard capacity == buffer.capacity, buffer.resident >= capacity / 2, buffer.resident <= most else {
            return csys_unmap(buffer.base, buffer.capacity)
        }
        let surplus = kept.withLock { kept in
            kept.buffers[index].append(buffer)
            kept.bytes += buffer.resident
            var surplus: [MappedBuffer] = []
            while kept.bytes > most {
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

    /// The size that a buffer for `size` bytes gets, and its class: 16 KiB times 1, 1.5, 2, 3, 4, 6, ...
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

/// Mapped memory, and how much of its beginning may be resident: what was ever written to.
struct MappedBuffer: @unchecked Sendable {
    // Safe to send: the members never change, and the memory has one owner at a time. It moves from a body's
    // `free` through the lock of `MappedBuffers.kept` to the next body, and the one who hands it on does not touch it
    // again.
    let base: UnsafeMutableRawPointer
    let capacity: Int
    let resident: Int
}
