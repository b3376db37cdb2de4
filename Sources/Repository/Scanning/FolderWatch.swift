/// Decides, by regular scans of the model folders, which entries have changed and are stable again.
///
/// An entry that is being copied differs in each scan. An entry is loaded when it differs from its last loaded state
/// and equals its state in the previous scan. Entries are identified by their paths; a stamp describes the state of an
/// entry.
package struct FolderWatch<Stamp: Equatable & Sendable>: Sendable {
    /// The result of a scan.
    package struct Change: Sendable, Hashable {
        /// Entries to act upon: new, changed or gone, and stable.
        package var changed: Set<String> = []
        /// Entries that have changed and are not stable.
        package var changing: Set<String> = []
    }

    /// The stamps of the entries when they were last acted upon.
    private var known: [String: Stamp]
    /// The stamps of the previous scan.
    private var last: [String: Stamp]

    /// - Parameter first: the entries at the beginning; the caller acts upon them.
    package init(_ first: [String: Stamp]) {
        known = first
        last = first
    }

    /// Compares a further scan with the previous ones.
    /// - Parameters:
    ///   - now: the entries of this scan.
    ///   - unreadable: paths that cannot be read: known entries at or below them are not gone.
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
                change.changed.insert(path)
            } else {
                change.changing.insert(path)
            }
        }
        last = now
        return change
    }
}
