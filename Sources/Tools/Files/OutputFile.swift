internal import FoundationEssentials
internal import Glibc
internal import InferenceService
internal import SystemSupport

/// An output file named on the command line.
enum OutputFile {
    /// Replaces the file's contents. Blocks.
    /// - Throws: a sentence with the file's name and the system's reason.
    static func write(_ bytes: [UInt8], to path: String) throws(StartupError) {
        do {
            try Data(bytes).write(to: URL(filePath: path))
        } catch {
            throw StartupError("\(path) cannot be written: \(reason(error))")
        }
    }

    /// Makes a folder, and those above it, where they are missing. Blocks.
    static func makeFolder(_ path: String) throws(StartupError) {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw StartupError("cannot create the folder \(path): \(reason(error))")
        }
    }

    /// Checks that a report may go there before it is made, which may take minutes: the folder must be there, and a file that
    /// is there already must look like a report (JSON, HTML or SVG), so that a slip of the keyboard does not cost a user's
    /// picture. Blocks.
    /// - Parameter flag: the flag that names the file, for the error.
    static func checkReport(_ path: String, flag: String) throws(StartupError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            let folder = parts.isEmpty ? "." : parts.joined(separator: "/")
            guard access(folder.isEmpty ? "/" : folder, W_OK | X_OK) == 0 else {
                throw StartupError(
                    "\(flag): cannot create \(path): \(folder) does not exist or is not writable")
            }
            return
        }
        // Devices and pipes take what they are given.
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw StartupError("\(flag): \(path) is a folder: expected the name of a file")
        }
        guard access(path, W_OK) == 0 else { throw StartupError("\(flag): \(path) is not writable by this user") }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else { return }
        let file = open(path, O_RDONLY | O_CLOEXEC)
        defer { if file >= 0 { close(file) } }
        var first: UInt8 = 0
        guard file >= 0, Glibc.read(file, &first, 1) == 1, first == UInt8(ascii: "{") || first == UInt8(ascii: "<")
        else {
            throw StartupError(
                "\(flag): \(path) exists and is not a report: choose another name")
        }
    }

    /// The system's own words for an error of Foundation's.
    private static func reason(_ error: any Error) -> String {
        guard let cause = (error as? CocoaError)?.userInfo["NSUnderlyingError"] as? POSIXError else {
            return "\(error)"
        }
        return SystemError.words(cause.code.rawValue)
    }
}
