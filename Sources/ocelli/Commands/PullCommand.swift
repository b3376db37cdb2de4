internal import FoundationEssentials
internal import InferenceService
internal import Settings
internal import SystemSupport
internal import Tools

/// `ocelli pull`: brings a model from a hub.
enum PullCommand: Command {
    static let name = "pull"
    static let runsModels = false
    static let summary = "Bring a model from Hugging Face, or another hub of its protocol, into the models folder."
    static let usage = [
        "ORG/NAME[@REVISION] [--models DIR] [--as OTHER] [--file PATTERN] [--dry-run] [--max-size SIZE]",
        "https://HOST/PATH/MODEL.onnx [--models DIR] [--as OTHER] [--dry-run] [--max-size SIZE]",
    ]
    static let about = """
        Chooses the model file that Ocelli serves, and the files that it reads with it (weights, config.json,
        preprocessor_config.json, labels), and puts them into DIR/NAME. Says first what it chose, what it left out and how
        large it is. Each file is checked by its length and the digest that the hub states. The folder comes whole or not
        at all: an interrupted pull goes on with the same command, and one that is complete is not repeated.

          ocelli pull Xenova/vit-base-patch16-224
          ocelli classify --models models cat.jpg
          ocelli serve --models models

          ocelli pull ORG/NAME --dry-run                      what would come
          ocelli pull ORG/NAME@v1.2                           a branch, tag or commit
          ocelli pull ORG/NAME --file 'onnx/model_int8.onnx'  one of several model files
        """

    static let notes = """
        Of several ONNX files, the one without a suffix is taken (model.onnx, and not model_int8.onnx). If several fit, pull
        lists them.

        HF_ENDPOINT is the address of another hub, HF_TOKEN a token for private and gated repositories: it is sent to that
        hub only. HTTPS_PROXY, HTTP_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR have their usual meanings, and
        HF_HUB_DOWNLOAD_TIMEOUT is the time in seconds without progress that ends a request (20). The command needs
        libcurl (package libcurl4 or libcurl3-gnutls). The daemon itself fetches nothing.
        """

    static var flags: [Flag<Pull.Request>] {
        [
            .text(
                "--models", "DIR", \.models,
                "The folder of models. Default: the first one of the setting models, else ./models."),
            .text(
                "--as", "OTHER", \.other, "The name of the folder in DIR, by which the model is served. Default: NAME."),
            .text(
                "--file", "PATTERN", \.pattern,
                "The model file: its path in the repository, or a pattern with * and ?; without a slash, its last name."
            ),
            .toggle("--dry-run", \.isDryRun, "Say what would come, and write nothing."),
            Flag("--max-size", "SIZE", "The maximum size of all files together. Default: 4GiB.") {
                request, flag, text in
                guard let size = Units.parseBytes(text), size > 0 else {
                    throw UsageError("\(flag): expected a size such as 500MiB, found \"\(text)\"")
                }
                if Double(text) != nil, let reading = Units.unlikelyReading(bytes: size) {
                    Terminal.complain("ocelli: warning: \(flag): \(reading)")
                }
                request.largest = size
            },
        ]
    }

    static let takesSettings = false
    static var initial: Pull.Request { Pull.Request() }

    static func take(word: String, into request: inout Pull.Request) throws {
        guard request.name == nil else { throw UsageError("\"\(word)\" is not expected here: one model at a time") }
        request.name = word
    }

    static func run(_ request: Pull.Request, settings: SettingsFlags) async throws -> Int32 {
        try Pull.run(
            request, models: try settings.resolve().models.first ?? "./models",
            environment: ProcessInfo.processInfo.environment,
            output: .init(print: Terminal.print, complain: Terminal.complain, progress: Terminal.progress))
        return 0
    }
}
