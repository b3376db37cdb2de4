internal import Glibc

/// This process: its end, its memory, and its descriptors.
package enum Process {
    /// Bytes of this process that are in memory; nil if /proc does not say. Reads a small file.
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

    /// The number of descriptors that may be open at once (RLIMIT_NOFILE), which others can change at any time; nil if
    /// there is no bound.
    package static var openFileLimit: Int? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur != rlim_t.max else {
            return nil
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// Ends at once, without waiting for anything.
    package static func exit(_ status: Int32) -> Never { _exit(status) }
}
