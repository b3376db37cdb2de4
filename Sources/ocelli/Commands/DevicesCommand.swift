internal import InferenceService
internal import Tools

/// `ocelli devices`: what models can run on.
enum DevicesCommand: Command {
    static let name = "devices"
    static let summary = "List the devices of this machine that models can run on."
    static let usage = [""]
    static let about = """
        Lists the engine's devices on this machine with the name of the hardware and its number formats. These are
        the values of `--device` of `ocelli serve`; AUTO lets the engine choose.
        """
    static let takesSettings = false

    static func run(_ request: Void, settings: SettingsFlags) async throws -> Int32 {
        Terminal.print(try DeviceList.text())
        return 0
    }
}
