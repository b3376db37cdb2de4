internal import InferenceService
internal import Tools

/// `ocelli devices`: lists the devices that models can run on.
enum DevicesCommand: Command {
    static let name = "devices"
    static let summary = "List the devices of this machine that models can run on."
    static let usage = ["[--json] [--config FILE] [SETTINGS]"]
    static let about = """
        Lists the engines' devices on this machine with the name of the hardware and its number formats. These are
        the values of `--device` of `ocelli serve`; AUTO lets the engine choose. A graphics processor is listed if the
        library of onnxruntime_path can use it.

          ocelli devices --onnxruntime-path /opt/onnxruntime-gpu/lib
        """

    static var flags: [Flag<Bool>] { [.json(\.self, "Print one JSON object.")] }

    static let initial = false

    static func run(_ isJSON: Bool, settings: SettingsFlags) async throws -> Int32 {
        Terminal.print(try DeviceList.text(try settings.resolve(), isJSON: isJSON))
        return 0
    }
}
