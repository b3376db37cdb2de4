import Foundation

/// A path where there is nothing, for tests of its error: a name of this process's own. `/nonexistent` may exist: it is
/// the home of `nobody`.
public enum AbsentPath {
    /// The path, in the temporary folder.
    public static let path = FileManager.default.temporaryDirectory.path + "/ocelli-absent-\(UUID().uuidString)"
}
