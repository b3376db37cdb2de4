import Foundation

/// Memory that ends at an inaccessible page: an access one byte too far crashes, even in libraries that were compiled
/// without a sanitizer.
final class GuardedBuffer {
    private let base: UnsafeMutableRawPointer
    private let size: Int
    private let page = sysconf(Int32(_SC_PAGESIZE))

    init(capacity: Int) {
        size = (capacity + page - 1) / page * page
        guard
            let mapped = mmap(
                nil, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), mapped != MAP_FAILED
        else { exit(2) }
        base = mapped
        mprotect(base + size, page, PROT_NONE)
    }

    deinit {
        munmap(base, size + page)
    }

    /// The last `count` bytes before the inaccessible page.
    func end(_ count: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: base + (size - count), count: count)
    }
}
