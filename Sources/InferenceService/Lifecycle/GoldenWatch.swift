/// Decides what follows when a model's answer to one of its goldens differs while it serves: a version is loaded again
/// once, since a flipped bit in memory or a replaced library is gone then. If that is no help, the machine is not to be
/// trusted, and the service manager decides.
package struct GoldenWatch: Sendable {
    package struct Version: Sendable, Hashable {
        package let name: String, version: String

        package init(name: String, version: String) {
            self.name = name
            self.version = version
        }
    }

    /// Versions that differed before.
    private var differed: Set<Version> = []
    /// Versions that differed again after they were loaded again: nothing that this process does is of help.
    private var distrusted: Set<Version> = []
    /// Versions that differed and could not be loaded again.
    private var lost: Set<Version> = []

    package init() {}

    /// An answer differs.
    /// - Returns: whether it is the version's first that does: the watchdog is fed then.
    package mutating func differs(_ version: Version) -> Bool {
        let isFirst = differed.insert(version).inserted
        if !isFirst { distrusted.insert(version) }
        return isFirst
    }

    /// The version could not be loaded again.
    package mutating func reloadFailed(_ version: Version) { lost.insert(version) }

    /// A version that differed twice, or could not be loaded again and still is not; nil if there is none: the first by
    /// name.
    package mutating func broken(ready: Set<Version>) -> Version? {
        lost.subtract(ready)
        return lost.union(distrusted).min { ($0.name, $0.version) < ($1.name, $1.version) }
    }
}
