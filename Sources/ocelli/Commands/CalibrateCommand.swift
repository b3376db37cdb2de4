internal import Settings
internal import Tools

/// `ocelli calibrate`: measures how sure a classifier may be.
enum CalibrateCommand: Command {
    static let name = "calibrate"
    static let summary = "Measure how sure a classifier may be, for honest confidences and sets of labels."

    static let usage = ["BUNDLE FOLDER [--json] [SETTINGS]"]
    static let about = """
        Runs a classifier on pictures whose labels are known, FOLDER with a folder for each label, and writes
        calibration.json beside its model.json. With this file, its confidences are as often right as they say, and answers
        can have a set of labels that holds the right one as often as the request asks for: in at least nine of ten pictures
        like those of FOLDER with coverage=0.9 (docs/calibrate.md). The pictures must not be those that the model was
        trained with.

          ocelli calibrate models/animals held-out
          ocelli serve --models models
          curl --data-binary @new.jpg 'localhost:8080/v1/models/animals/classify?coverage=0.9'

        FOLDER needs no folder for each label, but its pictures should be mixed as those of requests are. Hundreds of pictures
        are better than dozens: 99 are the fewest for a coverage of 0.99.
        """

    static var flags: [Flag<FolderCalibration.Request>] {
        [.json(\.isJSON, "Print the report as one JSON object.")]
    }

    static let notes = """
        A picture that fails is listed and left out; the exit status is then 1, though the file is written from the others.
        Nothing is written if a folder has not the name of a label, or no picture can be used. Calibrate again after a change
        of the model file, whose digest the file has, and after a change of the preprocessing in model.json. The settings of
        `ocelli help serve` about models and pictures apply.
        """
    static var initial: FolderCalibration.Request { FolderCalibration.Request() }

    static func take(word: String, into request: inout FolderCalibration.Request) throws {
        try take(
            word, into: &request, as: [\.bundle, \.pictures], maximum: "expected only BUNDLE and FOLDER")
    }

    static func run(_ request: FolderCalibration.Request, settings: SettingsFlags) async throws -> Int32 {
        guard !request.bundle.isEmpty, !request.pictures.isEmpty else {
            throw UsageError(
                "expected BUNDLE and FOLDER, the folder with a folder for each label; `ocelli help calibrate` shows the usage"
            )
        }
        let (text, failed) = try await FolderCalibration.run(
            request, settings: settings.resolve(), complain: Terminal.complain, progress: Terminal.progress)
        Terminal.print(text)
        return failed == 0 ? 0 : 1
    }
}
