internal import Glibc
/// Stand-in until FlowControl's own lands.
struct HostResources: Sendable {
    var cpus: Double
    var cpuReason: String
    var wholeCPUs: Int
    var memoryBytes: UInt64
    var memoryReason: String
    static var current: HostResources {
        let n = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        return HostResources(
            cpus: Double(n), cpuReason: "online", wholeCPUs: n, memoryBytes: 8 << 30, memoryReason: "guess")
    }
}
