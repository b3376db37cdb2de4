internal import Glibc
internal import InferenceService
internal import Settings
internal import SystemSupport

/// The check of the limit on the process's address space (RLIMIT_AS, `ulimit -v`). Under a small limit, a failed
/// allocation ends the process within the engine, without an error message.
enum AddressSpace {
    /// The minimum in bytes: the embedded model needs as much on two processors, although most of it is reserved and
    /// never used.
    private static let minimum: rlim_t = 1 << 30

    /// - Throws: if no model can be loaded.
    static func check() throws(CommandError) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0, limit.rlim_cur < minimum else { return }
        throw CommandError(
            "the address space of this process is limited to \(Units.bytes(Int(clamping: limit.rlim_cur))), and Ocelli needs at least "
                + "\(Units.bytes(Int(minimum))): remove the limit (ulimit -v unlimited; LimitAS= in a systemd unit) and limit the memory "
                + "by a control group (MemoryMax=)")
    }
}
