internal import CConfinedCodecs
internal import ConfinedDecoding

/// `ocelli decode`: what the daemon starts to decode pictures in separate processes. Not for people, and without flags.
///
/// No `Command`: it forks, which a process with threads of Swift's must not.
enum DecodeCommand {
    static let name = ConfinedDecoder.command

    /// The descriptor of the daemon's socket.
    private static let control: Int32 = 3

    /// Serves the daemon until it ends. To be called before the process has any threads.
    /// - Returns: the exit status.
    static func serve() -> Int32 {
        let status = ccodec_serve(control, ccodec_all, ccodec_count)
        if status != 0 {
            Terminal.complain(
                "ocelli: decode is for the daemon, which starts it with a socket as descriptor \(control)")
        }
        return status
    }
}
