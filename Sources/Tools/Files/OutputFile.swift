internal import FoundationEssentials
internal import Glibc
internal import SystemSupport

/// Functions for output files named on the command line.
enum OutputFile {
    /// Replaces the file's contents. Blocks.
    /// - Throws: a sentence with the file's name and the system's reason.
    static func write(_ bytes: [UInt8], to path: String) throws(CommandError) {
        do {
            try Data(bytes).write(to: URL(filePath: path))
        } catch {
            throw CommandError("\(path) cannot be written: \(reason(error))")
        }
    }

    /// Replaces a file atomically: readers, also after a power failure, find the old or the new contents. Blocks.
    /// - Throws: a sentence with the file's name and the system's reason.
    static func replace(_ path: String, with bytes: [UInt8]) throws(CommandError) {
        let name = FilePath.name(of: path) ?? "file"
        let work = "\(path.dropLast(name.count)).\(name).writing-\(getpid())"
        func failed(_ code: Int32) -> CommandError {
            unlink(work)
            return CommandError("\(path) cannot be written: \(SystemError.words(code))")
        }
        let file = open(work, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard file >= 0 else { throw failed(errno) }
        defer { close(file) }
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress?.advanced(by: done), $0.count - done) }
            guard count > 0 || count < 0 && errno == EINTR else { throw failed(errno) }
            done += max(0, count)
        }
        let code = DiskSync.file(file)
        guard code == 0 else { throw failed(code) }
        guard rename(work, path) == 0 else { throw failed(errno) }
    }

    /// Throws if a file may not be written: for a folder, and for a file that exists, unless it may be replaced.
    static func check(_ path: String, overwrites: Bool) throws(CommandError) {
        var target = stat()
        guard stat(path, &target) == 0 else { return }
        guard target.st_mode & S_IFMT != S_IFDIR else {
            throw CommandError("\(path) is a folder: expected the name of a file")
        }
        guard overwrites else {
            throw CommandError("\(path) already exists: use --force to replace it, or choose another name")
        }
    }

    /// Creates a folder and its missing parents. Blocks.
    static func makeFolder(_ path: String) throws(CommandError) {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw CommandError("cannot create the folder \(path): \(reason(error))")
        }
    }

    /// Checks that a report can be written before it is made, which may take minutes. The folder must exist. An
    /// existing file must look like a report (JSON, HTML or SVG), so that a mistyped name does not destroy a user's
    /// picture. Blocks.
    /// - Parameter flag: the flag that names the file, for the error message.
    static func checkReport(_ path: String, flag: String) throws(CommandError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let folder = FilePath.parent(of: path)
            guard access(folder, W_OK | X_OK) == 0 else {
                throw CommandError(
                    "\(flag): cannot create \(path): \(folder) does not exist or is not writable")
            }
            return
        }
        // Devices and pipes accept any data.
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw CommandError("\(flag): \(path) is a folder: expected the name of a file")
        }
        guard access(path, W_OK) == 0 else { throw CommandError("\(flag): \(path) is not writable by this user") }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else { return }
        let file = open(path, O_RDONLY | O_CLOEXEC)
        defer { if file >= 0 { close(file) } }
        var first: UInt8 = 0
        guard file >= 0, Glibc.read(file, &first, 1) == 1, first == UInt8(ascii: "{") || first == UInt8(ascii: "<")
        else {
            throw CommandError(
                "\(flag): \(path) exists and is not a report: choose another name")
        }
    }

    /// The system's message for a Foundation error.
    private static func reason(_ error: any Error) -> String {
        guard let cause = (error as? CocoaError)?.userInfo["NSUnderlyingError"] as? POSIXError else {
            return "\(error)"
        }
        return SystemError.words(cause.code.rawValue)
    }
}
