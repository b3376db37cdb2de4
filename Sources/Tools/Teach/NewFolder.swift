internal import FoundationEssentials
internal import Glibc
internal import InferenceService
internal import SystemSupport
internal import Teaching

/// A folder that appears whole or not at all: it is made beside its place, under a name that a daemon passes over, and
/// renamed at the end.
struct NewFolder: Sendable {
    let path: String
    /// The folder for what is made on the way.
    let work: String
    /// The folder that becomes `path`.
    var content: String { work + "/bundle" }
    private let overwrites: Bool

    /// - Throws: where there is something already that must not be replaced.
    init(_ path: String, overwrites: Bool) throws(StartupError) {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        guard let name = path.split(separator: "/").last, name != ".", name != ".." else {
            throw StartupError("\(path) cannot be a bundle: expected the name of a new folder", isConfiguration: true)
        }
        (self.path, self.overwrites) = (path, overwrites)
        work = "\(path.dropLast(name.count)).\(name).teaching-\(getpid())"
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard overwrites else {
            throw StartupError("\(path) already exists: use --force to replace it, or -o to write another folder")
        }
        guard access(path + "/" + TaughtFile.name, F_OK) == 0, access(path + "/model.json", F_OK) == 0 else {
            throw StartupError("\(path) was not made by ocelli teach: --force replaces only such bundles")
        }
    }

    /// Removes what is made on the way when the program is ended by a signal.
    func endCleanly() throws { try Interruption.end { discard() } }

    /// Puts the folder in its place.
    func keep() throws(StartupError) {
        let old = work + "/replaced"
        // The old one is removed only after the new one has replaced it.
        let isReplaced = overwrites && rename(path, old) == 0
        guard rename(content, path) == 0 else {
            let reason = SystemError.words(errno)
            if isReplaced { _ = rename(old, path) }
            throw StartupError("\(path) cannot be written: \(reason)")
        }
    }

    /// Removes what was made on the way.
    func discard() { try? FileManager.default.removeItem(atPath: work) }
}
