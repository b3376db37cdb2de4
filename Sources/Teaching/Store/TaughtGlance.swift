internal import Glibc
internal import SystemSupport

/// The classes of a taught model in a folder that a daemon may be using: read without its lock, and never changed.
package struct TaughtGlance: Sendable {
    /// The version that serves; 0 without examples.
    package let version: Int
    /// The labels of that version, sorted.
    package let labels: [String]

    /// Reads a taught model; nil if the folder has none of this name. Blocks.
    package init?(_ name: String, in folder: String) throws(TeachingError) {
        guard TaughtNames.isName(name) else { return nil }
        let path = FilePath.start(inside: folder) + name + "/journal"
        guard access(path, F_OK) == 0 else { return nil }
        var replayed: TaughtState?
        try JournalFile.read(path) { $0.apply(to: &replayed) }
        guard let state = replayed else { throw .storage("\(path) has no records") }
        version = state.serving
        labels = Set(state.examples.compactMap { $0.label(in: state.serving) }).sorted {
            $0.utf8.lexicographicallyPrecedes($1.utf8)
        }
    }
}
