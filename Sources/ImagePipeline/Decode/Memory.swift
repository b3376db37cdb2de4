#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// A growable buffer that never traps, because its size depends on pictures.
final class Memory {
    private(set) var base: UnsafeMutablePointer<UInt8>?
    private(set) var capacity = 0

    init() {}

    deinit {
        free(base)
    }

    /// At least `count` bytes (contents undefined), followed by `slack` bytes that whole vectors may read and write.
    /// Valid until the next call.
    func reserve(_ count: Int) throws(ImageError) -> UnsafeMutablePointer<UInt8> {
        let wanted = max(count, 1) + Self.slack
        if wanted > capacity || base == nil {
            free(base)
            base = nil
            capacity = 0
            let pointer = try Self.allocate(wanted)
            base = pointer.bindMemory(to: UInt8.self, capacity: wanted)
            capacity = wanted
        }
        guard let base else { throw .outOfMemory }
        return base
    }

    /// Uninitialised memory, to be released with `free`. Large memory begins at a huge page.
    static func allocate(_ count: Int) throws(ImageError) -> UnsafeMutableRawPointer {
        let isHuge = count >= huge
        var pointer: UnsafeMutableRawPointer?
        guard posix_memalign(&pointer, isHuge ? hugePage : 64, count) == 0, let pointer else { throw .outOfMemory }
        // Advice only: without it, or huge pages, the memory has ordinary pages.
        if isHuge { madvise(pointer, count / hugePage * hugePage, MADV_HUGEPAGE) }
        return pointer
    }

    /// Frees a buffer larger than `limit`, which is needed for one picture in thousands.
    func trim(to limit: Int) {
        guard capacity > limit else { return }
        free(base)
        base = nil
        capacity = 0
    }

    static let slack = 64
    /// The size of a huge page. A picture of 250 MB in pages of 4 KiB costs 60,000 page faults, and as many pages to
    /// free, each in the kernel and partly with all processors interrupted, which delays other requests.
    private static let hugePage = 2 << 20
    /// The size from which memory has huge pages. Such memory is not kept between pictures. malloc would map it anyway:
    /// this is the largest M_MMAP_THRESHOLD.
    private static let huge = 32 << 20
}
