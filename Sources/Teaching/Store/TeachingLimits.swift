internal import SystemSupport

/// The limits of teaching.
package struct TeachingLimits: Sendable, Equatable {
    /// The maximum number of taught models.
    package var models = 100
    /// The maximum number of classes of a model.
    package var classes = 1_000
    /// The maximum number of examples of a model.
    package var examples = 100_000
    /// The maximum number of patches with which a picture's patches are compared.
    package var patches = 100_000
    /// The maximum size of all files together, in bytes.
    package var bytes = 1 << 30
    /// The maximum number of kept versions of a model.
    package var versions = 10
    /// The number of bytes by which a journal may exceed twice the size of its state before it is compacted.
    package var slack = 16 << 10

    package init() {}
}

/// The total size of the files of all taught models.
final class ByteTotal: Sendable {
    private let used = Guarded(0)

    /// Counts bytes. Beyond the limit, throws an error and counts nothing.
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

    /// Counts bytes that were added, or removed if negative.
    func change(by bytes: Int) { used.withLock { $0 += bytes } }

    var value: Int { used.withLock { $0 } }
}
