internal import Glibc
internal import SystemSupport

/// Reads model folders. It distinguishes a missing entry from an unreadable one, because only a missing one means that
/// a model is gone.
package struct FolderReader: Sendable {
    /// The kind of the entry at a path, links followed.
    package enum Kind: Sendable, Hashable {
        case folder, file, missing
    }

    /// The names in a folder, without `.` and `..`, in any order. Blocks.
    package var names: @Sendable (_ folder: String) throws(FileFailure) -> [String]
    /// The kind of the entry at a path. Blocks.
    package var kind: @Sendable (_ path: String) throws(FileFailure) -> Kind

    /// A reader with other functions, for tests.
    package init(
        names: @escaping @Sendable (_ folder: String) throws(FileFailure) -> [String],
        kind: @escaping @Sendable (_ path: String) throws(FileFailure) -> Kind
    ) {
        self.names = names
        self.kind = kind
    }

    /// The file system: opendir(3), readdir(3), stat(2).
    package static let disk = FolderReader(names: names(in:), kind: kind(of:))

    private static func names(in folder: String) throws(FileFailure) -> [String] {
        do throws(SystemError) {
            return try FolderNames.read(folder)
        } catch {
            throw FileFailure(code: error.number)
        }
    }

    private static func kind(of path: String) throws(FileFailure) -> Kind {
        var status = stat()
        if stat(path, &status) == 0 { return status.st_mode & S_IFMT == S_IFDIR ? .folder : .file }
        let failure = FileFailure(code: errno)
        if failure.isAbsence { return .missing }
        throw failure
    }
}
