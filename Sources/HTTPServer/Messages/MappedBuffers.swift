import CSystem
import Synchronization

/// Mapped memory that bodies have let go of, kept for those that come next.
///
/// Fresh pages cost a fault each: for a body of half a megabyte that is a tenth of all that a request costs. What is kept is
/// little, whatever the clients do; the rest goes back to the kernel at once. Of what earlier bodies left in it nothing can be
/// read: a body shows only the bytes that were written to it.
enum MappedBuffers {
    /// Bytes that are kept in all, so that a server at rest holds no more than this.
    private static let most = 4 << 20

    private struct Kept: @unchecked Sendable {
        // Safe to send, though pointers are not: the only value of this type is made below and never leaves the mutex. What
        // its addresses point to is nobody else's, for the body that gave a buffer away was in its deinit.
        var buffers: [(base: UnsafeMutableRawPointer, capacity: Int)] = []
        var bytes = 0
    }

    private static let kept = Mutex(Kept())

    /// Memory of at least `size` bytes (whole pages), and its size; nil where the kernel has none.
    static func take(_ size: Int) -> (base: UnsafeMutableRawPointer, capacity: Int)? {
        let used = kept.withLock { kept -> (UnsafeMutableRawPointer, Int)? in
            // The smallest that will do; one far too large is left for those who need it.
            let fitting = kept.buffers.indices.filter { size...(2 * size) ~= kept.buffers[$0].capacity }
            guard let best = fitting.min(by: { kept.buffers[$0].capacity < kept.buffers[$1].capacity }) else {
                return nil
            }
            let buffer = kept.buffers.remove(at: best)
            kept.bytes -= buffer.capacity
            return buffer
        }
        if let used { return used }
        return csys_map(size).map { ($0, size) }
    }

    /// Takes memory back that ``take(_:)`` gave, or that was remapped from it. Where that is too much, those go that have
    /// been kept the longest: bodies of another size may come now.
    static func give(_ base: UnsafeMutableRawPointer, _ capacity: Int) {
        guard capacity <= most else { return csys_unmap(base, capacity) }
        let surplus = kept.withLock { kept in
            kept.buffers.append((base, capacity))
            kept.bytes += capacity
            var surplus: [(base: UnsafeMutableRawPointer, capacity: Int)] = []
            while kept.bytes > most {
                let oldest = kept.buffers.removeFirst()
                kept.bytes -= oldest.capacity
                surplus.append(oldest)
            }
            return SendableBuffers(list: surplus)
        }
        for buffer in surplus.list { csys_unmap(buffer.base, buffer.capacity) }
    }

    /// Buffers on their way out of the lock, to be unmapped by the thread that took them: they are in the list no more, and
    /// nobody else has their addresses.
    private struct SendableBuffers: @unchecked Sendable {
        let list: [(base: UnsafeMutableRawPointer, capacity: Int)]
    }
}
