internal import FoundationEssentials
internal import Glibc
internal import SystemSupport
internal import Teaching

/// A folder that appears only when it is complete: it is made next to its destination, under a name that a daemon
/// ignores, and renamed at the end.
struct OutputFolder: Sendable {
    let path: String
    /// The work folder.
    let work: String
    /// The folder that will become `path`.
    var content: String { work + "/bundle" }
    private let overwrites: Bool

    /// - Throws: if the destination exists and must not be replaced.
    init(_ path: String, overwrites: Bool) throws(CommandError) {
        let path = FilePath.withoutSlashesAtEnd(path)
        guard let name = path.split(separator: "/").last, name != ".", name != ".." else {
            throw CommandError("\(path) cannot be a bundle: expected the name of a new folder", isConfiguration: true)
        }
        (self.path, self.overwrites) = (path, overwrites)
        work = "\(path.dropLast(name.count)).\(name).teaching-\(getpid())"
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard overwrites else {
            throw CommandError("\(path) already exists: use --force to replace it, or -o to write another folder")
        }
        guard access(path + "/" + TaughtFile.name, F_OK) == 0, access(path + "/model.json", F_OK) == 0 else {
            throw CommandError("\(path) was not made by ocelli teach: --force replaces only such bundles")
        }
    }

    /// Removes the work folder when a signal ends the program.
    func endCleanly() throws { try Interruption.end { discard() } }

    /// Moves the folder to its destination.
    func keep() throws(CommandError) {
        try BundleOutput.move(content, to: path, keepingAs: overwrites ? work + "/replaced" : nil)
    }

    /// Removes the work folder.
    func discard() { try? FileManager.default.removeItem(atPath: work) }
}
