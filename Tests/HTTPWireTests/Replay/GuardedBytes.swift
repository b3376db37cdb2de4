import Glibc

/// Memory between two pages that fault when they are touched: a reader that looks one byte past the end, or before the
/// start, of what it was given dies on the spot instead of finding something there.
final class GuardedBytes {
    private let base: UnsafeMutableRawPointer
    private let page: Int
    private let capacity: Int

    /// Room for at least `count` bytes.
    init(count: Int) {
        page = sysconf(Int32(_SC_PAGESIZE))
        capacity = (max(count, 1) + page - 1) / page * page
        let length = capacity + 2 * page
        guard let map = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            map != MAP_FAILED,
            mprotect(map, page, PROT_NONE) == 0, mprotect(map + page + capacity, page, PROT_NONE) == 0
        else { fatalError("no memory for \(count) guarded bytes: errno \(errno)") }
        base = map
    }

    deinit { munmap(base, capacity + 2 * page) }

    /// A copy of `bytes` whose last byte is the last one before the guard.
    func atEnd(_ bytes: ArraySlice<UInt8>) -> UnsafeRawBufferPointer {
        copy(bytes, to: base + page + capacity - bytes.count)
    }

    /// A copy of `bytes` whose first byte is the first one after the guard.
    func atStart(_ bytes: ArraySlice<UInt8>) -> UnsafeRawBufferPointer { copy(bytes, to: base + page) }

    private func copy(_ bytes: ArraySlice<UInt8>, to target: UnsafeMutableRawPointer) -> UnsafeRawBufferPointer {
        precondition(bytes.count <= capacity)
        bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: target, count: capacity).copyMemory(from: $0) }
        return UnsafeRawBufferPointer(start: target, count: bytes.count)
    }
}
