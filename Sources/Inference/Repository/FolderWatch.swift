/// Decides, by regular scans of the model folders, which entries have changed and are stable again.
///
/// An entry that is being copied is different in each scan. An entry that differs from its last loaded state, and is
/// the same as in the previous scan, is loaded. Entries are identified by their paths; a stamp describes the state of
/// an entry.
package struct FolderWatch<Stamp: Equatable & Sendable>: Sendable {
    /// The result of a scan.
    package struct Change: Sendable, Hashable {
        /// Entries to act upon: new, changed or gone, and at rest.
        package var settled: Set<String> = []
        /// Entries that have changed and are not at rest.
        package var unsettled: Set<String> = []
    }

    /// The stamps that were acted upon.
    private var known: [String: Stamp]
    /// The stamps that were seen last.
    private var last: [String: Stamp]

    /// - Parameter first: what there is at the beginning, which is acted upon elsewhere.
    package init(_ first: [String: Stamp]) {
        known = first
        last = first
    }

    /// A further scan.
    /// - Parameters:
    ///   - now: what there is.
    ///   - unreadable: paths that cannot be read: what was there, or below, is not gone.
    package mutating func scan(_ now: [String: Stamp], unreadable: Set<String> = []) -> Change {
        var change = Change()
        var now = now
        if !unreadable.isEmpty {
            for (path, stamp) in known
            where now[path] == nil && unreadable.contains(where: { path == $0 || path.hasPrefix($0 + "/") }) {
                now[path] = last[path] ?? stamp
            }
        }
        for path in Set(now.keys).union(known.keys) where now[path] != known[path] {
            if now[path] == last[path] {
                known[path] = now[path]
                change.settled.insert(path)
            } else {
                change.unsettled.insert(path)
            }
        }
        last = now
        return change
    }
}
