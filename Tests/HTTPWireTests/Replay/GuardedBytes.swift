import Glibc

/// Memory between two pages that fault on access: reading one byte after the end, or before the start, of the input
/// crashes at once.
final class GuardedBytes {
    private let base: UnsafeMutableRawPointer
    private let page: Int
    private let capacity: Int

    /// Allocates at least `count` bytes.
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

    /// A copy of `bytes` that ends directly before the guard page.
    func atEnd(_ bytes: ArraySlice<UInt8>) -> UnsafeRawBufferPointer {
        copy(bytes, to: base + page + capacity - bytes.count)
    }

    /// A copy of `bytes` that begins directly after the guard page.
    func atStart(_ bytes: ArraySlice<UInt8>) -> UnsafeRawBufferPointer { copy(bytes, to: base + page) }

    private func copy(_ bytes: ArraySlice<UInt8>, to target: UnsafeMutableRawPointer) -> UnsafeRawBufferPointer {
        precondition(bytes.count <= capacity)
        bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: target, count: capacity).copyMemory(from: $0) }
        return UnsafeRawBufferPointer(start: target, count: bytes.count)
    }
}
