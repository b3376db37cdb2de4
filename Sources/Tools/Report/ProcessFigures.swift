internal import FoundationEssentials
internal import Glibc
internal import InferenceService

/// What the kernel says of this process and of the machine's load.
enum ProcessFigures {
    /// Bytes of this process that are in memory; nil where /proc does not say.
    static var residentBytes: Int? {
        guard let data = try? Data(contentsOf: URL(filePath: "/proc/self/statm")) else { return nil }
        let words = String(decoding: data, as: UTF8.self).split(separator: " ")
        guard words.count > 1, let pages = Int(words[1]) else { return nil }
        return pages &* Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// The load average of the last minute; nil where /proc does not say.
    static var loadAverage: Double? {
        guard let data = try? Data(contentsOf: URL(filePath: "/proc/loadavg")) else { return nil }
        return String(decoding: data, as: UTF8.self).split(separator: " ").first.flatMap { Double($0) }
    }
}
