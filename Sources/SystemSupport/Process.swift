internal import Glibc

/// This process: its end, its memory, and its descriptors.
package enum Process {
    /// The resident memory of this process in bytes; nil if /proc cannot be read. Reads a small file.
    package static var residentBytes: Int? {
        let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        let words = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self).split(separator: " ")
        guard words.count > 1, let pages = Int(words[1]) else { return nil }
        return pages &* Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// The maximum number of open descriptors (RLIMIT_NOFILE), which other processes can change at any time; nil if it
    /// is unlimited.
    package static var openFileLimit: Int? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur != rlim_t.max else {
            return nil
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// Exits at once, without cleanup.
    package static func exit(_ status: Int32) -> Never { _exit(status) }
}
