internal import InferenceService
internal import Tools

/// `ocelli devices`: what models can run on.
enum DevicesCommand: Command {
    static let name = "devices"
    static let summary = "List the devices of this machine that models can run on."
    static let help = """
        Usage: ocelli devices

        Lists the engine's devices on this machine with the name of the hardware and its number formats. These are
        the values of `--device` of `ocelli serve`; AUTO lets the engine choose.
        """

    static let flags: [String] = []

    static func run(_ arguments: [String]) async throws -> Int32 {
        if let extra = arguments.first {
            throw UsageError("\"\(extra)\" is not expected here: `ocelli devices` takes no arguments")
        }
        Terminal.print(try DeviceList.text())
        return 0
    }
}
