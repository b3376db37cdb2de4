/// Decides the reaction when a serving model's answer to one of its goldens differs. The version is loaded again once,
/// which helps against a flipped bit in memory or a replaced library. If that does not help, the machine cannot be
/// trusted, and the watchdog is no longer fed.
package struct GoldenWatch: Sendable {
    package struct Version: Sendable, Hashable {
        package let name: String, version: String

        package init(name: String, version: String) {
            self.name = name
            self.version = version
        }
    }

    /// Versions that have differed.
    private var differed: Set<Version> = []
    /// Versions that differed again after a reload: this process can do nothing more about them.
    private var distrusted: Set<Version> = []
    /// Versions that differed and could not be loaded again.
    private var lost: Set<Version> = []

    package init() {}

    /// Records a different answer.
    /// - Returns: true the first time for a version, when the watchdog is still fed.
    package mutating func differs(_ version: Version) -> Bool {
        let isFirst = differed.insert(version).inserted
        if !isFirst { distrusted.insert(version) }
        return isFirst
    }

    /// Records that the version could not be loaded again.
    package mutating func reloadFailed(_ version: Version) { lost.insert(version) }

    /// The first version by name that differed twice, or that could not be loaded again and is still not ready; nil if
    /// there is no such version.
    package mutating func broken(ready: Set<Version>) -> Version? {
        lost.subtract(ready)
        return lost.union(distrusted).min { ($0.name, $0.version) < ($1.name, $1.version) }
    }
}
