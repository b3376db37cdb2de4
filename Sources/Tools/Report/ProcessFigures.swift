internal import FoundationEssentials

/// The kernel's figures of the machine's load.
enum ProcessFigures {
    /// The load average of the last minute; nil if /proc cannot be read.
    static var loadAverage: Double? {
        guard let data = try? Data(contentsOf: URL(filePath: "/proc/loadavg")) else { return nil }
        return String(decoding: data, as: UTF8.self).split(separator: " ").first.flatMap { Double($0) }
    }
}
