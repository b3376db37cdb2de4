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

    /// At least `count` bytes (contents undefined), with `slack` behind them that may be read and written by passes that work in
    /// whole vectors. Valid until the next call.
    func reserve(_ count: Int) throws(ImageError) -> UnsafeMutablePointer<UInt8> {
        let wanted = max(count, 1) + Self.slack
        if wanted > capacity || base == nil {
            free(base)
            base = nil
            capacity = 0
            var pointer: UnsafeMutableRawPointer?
            guard posix_memalign(&pointer, 64, wanted) == 0, let pointer else { throw .outOfMemory }
            base = pointer.bindMemory(to: UInt8.self, capacity: wanted)
            capacity = wanted
        }
        guard let base else { throw .outOfMemory }
        return base
    }

    /// Gives large memory back: what one picture in thousands needs is not kept.
    func trim(to limit: Int) {
        guard capacity > limit else { return }
        free(base)
        base = nil
        capacity = 0
    }

    static let slack = 64
}
