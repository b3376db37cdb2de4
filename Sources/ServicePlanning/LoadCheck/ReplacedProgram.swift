internal import CSystem
internal import Glibc

/// Detects that the files of this program were replaced or removed since it started, as by `make install`: processes
/// and libraries that it starts or loads later are then different, or missing.
package enum ReplacedProgram {
    /// Advice if files were replaced or removed; otherwise nil. Reads /proc: blocks.
    package static var advice: String? {
        // Give only the file's name: clients see it in the reason of a model, and must not learn paths.
        guard let file = replaced(in: maps)?.split(separator: "/").last else { return nil }
        return "\(file) was replaced or removed since Ocelli started: restart it (systemctl restart ocelli)"
    }

    /// The process's memory map. The kernel returns a page of it at a time, and no size.
    private static var maps: String {
        let descriptor = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { _ = csys_close(descriptor) }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while text.count < maximum {
            let count = csys_read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            text += buffer[..<count]
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The maximum number of bytes to read of the map; some hundred lines are usual.
    private static let maximum = 4 << 20

    /// The first mapped file of code that is no longer in its folder, in the form of proc_pid_maps(5); nil without one.
    package static func replaced(in maps: String) -> String? {
        let end = " (deleted)"
        for line in maps.split(separator: "\n") where line.hasSuffix(end) {
            // Address, permissions, offset, device, inode, path. Only code counts: constants of models are in files
            // that are deleted at once.
            let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            guard fields.count == 6, fields[1].contains("x") else { continue }
            let path = fields[5].drop { $0 == " " }.dropLast(end.count)
            if path.hasPrefix("/"), !path.hasPrefix("/dev/"), !path.hasPrefix("/memfd:") { return String(path) }
        }
        return nil
    }
}
