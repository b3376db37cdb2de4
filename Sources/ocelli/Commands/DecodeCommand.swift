internal import CConfinedCodecs
internal import ConfinedDecoding

/// `ocelli decode`: the helper program that the daemon starts to decode pictures in separate processes. Not for users,
/// and without flags.
///
/// Not a `Command`, because it forks, which is not allowed in a process with Swift threads.
enum DecodeCommand {
    static let name = ConfinedDecoder.command

    /// The descriptor of the daemon's socket.
    private static let control: Int32 = 3

    /// Serves the daemon until it ends. Call it before the process has any other thread.
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
