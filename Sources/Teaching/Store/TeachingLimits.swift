internal import SystemSupport

/// The limits of what may be taught.
package struct TeachingLimits: Sendable, Equatable {
    /// Taught models.
    package var models = 100
    /// Classes of one.
    package var classes = 1_000
    /// Examples of one.
    package var examples = 100_000
    /// Bytes of all files together.
    package var bytes = 1 << 30
    /// Versions of one that are kept.
    package var versions = 10
    /// Bytes that a journal may have beyond twice what its state takes: with more it is compacted.
    package var slack = 16 << 10

    package init() {}
}

/// The bytes that all taught models take together.
final class ByteTotal: Sendable {
    private let used = Guarded(0)

    /// Counts bytes; an error, and nothing is counted, beyond the limit.
    func take(_ bytes: Int, limit: Int) throws(TeachingError) {
        let fits = used.withLock { used in
            guard bytes <= limit - used else { return false }
            used += bytes
            return true
        }
        guard fits else {
            throw .full(
                "the files of taught models would need more than `taught_max_bytes` (\(limit) bytes): forget examples, or raise it"
            )
        }
    }

    /// Counts bytes that are there, or no longer there.
    func change(by bytes: Int) { used.withLock { $0 += bytes } }

    var value: Int { used.withLock { $0 } }
}
