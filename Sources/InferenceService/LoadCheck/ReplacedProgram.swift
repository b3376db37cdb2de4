internal import CSystem
internal import Glibc

/// Finds out whether the files of this program were replaced or removed since it started, as `make install` does: what
/// it starts or loads later are other files, or none.
package enum ReplacedProgram {
    /// Advice for files that were replaced or removed; nil where the files are still those that run. Reads /proc:
    /// blocks.
    static var advice: String? {
        // Clients see it as the reason of a model: where the program is, is not theirs to know.
        guard let file = replaced(in: maps)?.split(separator: "/").last else { return nil }
        return "\(file) was replaced or removed since Ocelli started: restart it (systemctl restart ocelli)"
    }

    /// The process's memory map; the kernel gives out a page of it at a time, and no size.
    private static var maps: String {
        let descriptor = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { _ = csys_close(descriptor) }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while text.count < most {
            let count = csys_read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            text += buffer[..<count]
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Bytes of it that are read at most: some hundred lines are usual.
    private static let most = 4 << 20

    /// The first file of code that is mapped and no longer in its folder, in the form of proc_pid_maps(5).
    package static func replaced(in maps: String) -> String? {
        let end = " (deleted)"
        for line in maps.split(separator: "\n") where line.hasSuffix(end) {
            // Address, permissions, offset, device, inode, path. Only code: constants of models lie in files that are
            // deleted at once.
            let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            guard fields.count == 6, fields[1].contains("x") else { continue }
            let path = fields[5].drop { $0 == " " }.dropLast(end.count)
            if path.hasPrefix("/"), !path.hasPrefix("/dev/"), !path.hasPrefix("/memfd:") { return String(path) }
        }
        return nil
    }
}
