internal import InferenceService
internal import Tools

/// `ocelli devices`: what models can run on.
enum DevicesCommand: Command {
    static let name = "devices"
    static let summary = "List the devices that models can run on here."
    static let help = """
        Usage: ocelli devices

        Lists the engine's devices on this machine, with the hardware's name and what it computes with. `--device`
        of `ocelli serve` takes these names; AUTO leaves the choice to the engine.
        """

    static let flags: [String] = []

    static func run(_ arguments: [String]) async throws -> Int32 {
        if let extra = arguments.first {
            throw UsageError("\"\(extra)\" is not expected here: `ocelli devices` takes nothing")
        }
        Terminal.print(try DeviceList.text())
        return 0
    }
}
