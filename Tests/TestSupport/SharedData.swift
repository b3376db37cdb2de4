public import Foundation

/// Real models and pictures that are not part of the project: `../shared/data` next to the package, if it exists. Tests
/// that need it are otherwise skipped with a reason.
public enum SharedData {
    /// The root of this package.
    public static let packageRoot: URL = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The folder with the shared models and pictures, or nil if it is absent.
    public static let folder: URL? = {
        let url = packageRoot.deletingLastPathComponent().appendingPathComponent("shared/data")
        return FileManager.default.fileExists(atPath: url.path) ? url : nil
    }()

    /// True if the shared data is present: the condition of `.enabled(if:)`.
    public static var isAvailable: Bool { folder != nil }

    /// The reason of a skipped test.
    public static let absence = "../shared/data is not beside the package: this test needs its models and pictures"
}
