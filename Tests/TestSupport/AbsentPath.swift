import Foundation

/// A path that does not exist, for tests of its error. `/nonexistent` may exist: it is the home of `nobody`.
public enum AbsentPath {
    /// The path, in the temporary folder; unique to this process.
    public static let path = FileManager.default.temporaryDirectory.path + "/ocelli-absent-\(UUID().uuidString)"
}
