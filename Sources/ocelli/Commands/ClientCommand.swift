internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli client`: writes a typed client of a model.
enum ClientCommand: Command {
    static let name = "client"
    static let summary = "Write a typed client of a model in Swift or Python."
    static let usage = ["MODEL --language swift|python [-o FILE] [SETTINGS]"]
    static let about = """
        Writes one source file with a class for a model, as Xcode makes one of a Core ML file: NAMEInput has a member for
        each input, NAMEOutput one for each output, NAMELabel a case for each label, and prediction(input) asks a running
        daemon. The file needs only the standard library: Foundation in Swift 6, Python 3.9 or later. NAME is the model's,
        with "_" for each character that an identifier cannot have.

        MODEL is a bundle, a model file, or a name in --models or --taught-dir. The command loads it, to see its features;
        a model with boxes, a mask, keypoints, an embedding, text or taught classes is asked by that task's route.

          ocelli client models/digits --language python -o digits.py
          ocelli client MobileNetV2.mlmodel --language swift -o MobileNetV2.swift

        In Python:
          from digits import digits, digitsInput
          digits("http://127.0.0.1:8080").prediction(digitsInput(image=open("seven.png", "rb").read())).classLabel
        In Swift:
          try await MobileNetV2(url: "http://127.0.0.1:8080").prediction(image: data).classLabel

        Errors of the server are NAMEError: status, code, message, request identifier and the seconds of Retry-After. See
        docs/clients.md.
        """

    static var flags: [Flag<ClientGeneration.Request>] {
        [
            .choice("--language", "LANGUAGE", \.language, of: ["swift", "python"], "The language: swift or python."),
            .text(
                "-o --output", "FILE", \.output,
                "The file to write, or replace if this command has written it. Default: standard output."),
        ]
    }

    static var initial: ClientGeneration.Request { ClientGeneration.Request() }

    static func take(word: String, into request: inout ClientGeneration.Request) throws {
        try take(word, into: &request, as: [\.model], maximum: "one MODEL at a time")
    }

    static func run(_ request: ClientGeneration.Request, settings: SettingsFlags) async throws -> Int32 {
        guard !request.model.isEmpty, request.language != nil else {
            throw UsageError("expected MODEL and --language swift or python; `ocelli help client` shows the usage")
        }
        Terminal.print(
            try await ClientGeneration.run(request, settings: settings.resolve(), note: Terminal.complain))
        return 0
    }
}
