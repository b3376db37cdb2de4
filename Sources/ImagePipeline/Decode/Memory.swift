#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// Memory that grows, and never traps: the size comes from pictures.
final class Memory {
    private(set) var base: UnsafeMutablePointer<UInt8>?
    private(set) var capacity = 0

    init() {}

    deinit {
        free(base)
    }

    /// At least `count` bytes (contents undefined), with `slack` behind them that may be read and written by passes
    /// that work in whole vectors. Valid until the next call.
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

    /// Uninitialised memory that `free` gives back; large memory begins at a huge page.
    static func allocate(_ count: Int) throws(ImageError) -> UnsafeMutableRawPointer {
        let isHuge = count >= huge
        var pointer: UnsafeMutableRawPointer?
        guard posix_memalign(&pointer, isHuge ? hugePage : 64, count) == 0, let pointer else { throw .outOfMemory }
        // Advice only: where the kernel has none, they are usual ones.
        if isHuge { madvise(pointer, count / hugePage * hugePage, MADV_HUGEPAGE) }
        return pointer
    }

    /// Gives large memory back: what one picture in thousands needs is not kept.
    func trim(to limit: Int) {
        guard capacity > limit else { return }
        free(base)
        base = nil
        capacity = 0
    }

    static let slack = 64
    /// A huge page. A picture of 250 MB in pages of 4 KiB costs 60,000 page faults, and as many pages to be given back,
    /// each in the kernel and for some of it with all processors interrupted: requests of others wait for that.
    private static let hugePage = 2 << 20
    /// Memory of this size has huge pages. It is not kept from one picture to the next, and malloc maps it by itself:
    /// its largest M_MMAP_THRESHOLD is this.
    private static let huge = 32 << 20
}
