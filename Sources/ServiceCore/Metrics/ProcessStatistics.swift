internal import FoundationEssentials
internal import Glibc
internal import SystemSupport

/// The kernel's statistics of the process, for the `process_*` metrics that every Prometheus client has.
struct ProcessStatistics {
    var cpuSeconds = 0.0
    var residentBytes = 0
    var virtualBytes = 0
    var threads = 0
    var openDescriptors = 0
    var maximumDescriptors = 0
    /// Seconds since 1970.
    var startSeconds = 0.0

    /// Reads the current statistics from a few small files of /proc.
    init() {
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        // The name in parentheses may contain any character: count fields after the last parenthesis.
        let stat = Self.text("/proc/self/stat")
        let fields = stat[(stat.lastIndex(of: ")").map { stat.index(after: $0) } ?? stat.startIndex)...].split(
            separator: " ")
        func field(_ number: Int) -> Double { fields.count > number ? Double(fields[number]) ?? 0 : 0 }
        // proc_pid_stat(5): fields 14, 15, 20, 22, 23, 24, counted from the state, which is 3.
        cpuSeconds = (field(11) + field(12)) / ticks
        threads = Int(field(17))
        virtualBytes = Int(field(20))
        residentBytes = Int(field(21)) * Int(getpagesize())
        let boot = Self.text("/proc/stat").split(separator: "\n").first { $0.hasPrefix("btime ") }?.dropFirst(6)
        startSeconds = (boot.flatMap { Double($0) } ?? 0) + field(19) / ticks
        openDescriptors = Self.entries("/proc/self/fd")
        maximumDescriptors = Process.openFileLimit ?? .max
    }

    private static func text(_ path: String) -> String {
        // Files of /proc report no size: read until the end.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count < 1 << 20 {
            let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func entries(_ path: String) -> Int {
        guard let folder = opendir(path) else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // Without ".", ".." and the descriptor of this listing.
        return max(0, count - 3)
    }
}
