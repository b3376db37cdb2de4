internal import Calibration
internal import JSON
internal import Settings
internal import SystemSupport

/// The result of a calibration, as text and as JSON.
struct CalibrationReport {
    /// The sets of one coverage, on the pictures of the calibration.
    struct Sets {
        let coverage: Coverage
        /// The mean number of labels, and the share of sets with exactly one.
        let meanSize: Double, single: Double
        /// False if the pictures are too few, so that each set has all labels.
        let isEnough: Bool
    }

    let name: String
    /// The written file.
    let file: String
    let calibration: ClassifierCalibration
    let accuracy: Double
    /// The mean log loss before and after.
    let losses: (before: Double, after: Double)
    let sets: [Sets]
    /// The number of pictures that could not be used.
    let failed: Int

    private static let coverages = ["0.8", "0.9", "0.95", "0.99"]

    init(
        name: String, file: String, calibration: ClassifierCalibration, answers: LabelledAnswers, failed: Int
    ) {
        (self.name, self.file, self.calibration, self.failed) = (name, file, calibration, failed)
        accuracy = answers.accuracy
        losses = (answers.logLoss(at: 1), answers.logLoss(at: calibration.temperature))
        sets = Self.coverages.compactMap { Coverage($0) }.map { coverage in
            var labels = 0, single = 0
            for index in 0..<answers.count {
                let count = calibration.set(coverage, of: answers.row(index)).count
                labels += count
                single += count == 1 ? 1 : 0
            }
            let pictures = Double(max(1, answers.count))
            return Sets(
                coverage: coverage, meanSize: Double(labels) / pictures, single: Double(single) / pictures,
                isEnough: calibration.threshold(coverage) != nil)
        }
    }

    /// The report as lines of text.
    var text: String {
        let temperature = Units.decimal(calibration.temperature, places: 3)
        var lines = [
            "\(PrintableText.text(name)): \(TeachReport.count(calibration.pictures, "picture")), \(percent(accuracy)) answered right",
            "temperature \(temperature): mean log loss \(Units.decimal(losses.before, places: 4)) before, "
                + "\(Units.decimal(losses.after, places: 4)) after",
        ]
        if let remark = temperatureRemark { lines.append(remark) }
        lines.append("coverage   labels in a set   sets of one label")
        for row in sets {
            let least = TeachReport.count(row.coverage.leastCount, "picture")
            lines.append(
                "\(row.coverage.share)".left(8) + Units.decimal(row.meanSize, places: 2).right(18)
                    + percent(row.single).right(20)
                    + (row.isEnough ? "" : "   (all labels: this coverage takes \(least))"))
        }
        lines.append("wrote \(PrintableText.text(file))")
        lines.append("next, once a daemon serves it (a reload is enough):")
        lines.append(
            "  curl --data-binary @PICTURE 'localhost:8080/v1/models/\(PrintableText.text(name))/classify?coverage=0.9'"
        )
        return lines.joined(separator: "\n")
    }

    /// A sentence about a temperature at its bound; nil for others.
    private var temperatureRemark: String? {
        switch calibration.temperature {
        case Temperature.range.lowerBound:
            "  the temperature is the lowest one: the pictures are too few or too easy to tell how sure the model may be"
        case Temperature.range.upperBound:
            "  the temperature is the highest one: the model's answers say little about these labels; are they right?"
        default: nil
        }
    }

    private func percent(_ share: Double) -> String { Units.decimal(100 * share, places: 1) + " %" }

    /// The report as one JSON object.
    var json: String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("model", name)
            writer.member("file", file)
            writer.member("digest", calibration.model)
            writer.member("pictures", calibration.pictures)
            writer.member("failed", failed)
            writer.member("accuracy", accuracy)
            writer.member("temperature", calibration.temperature)
            writer.key("log_loss")
            writer.object { writer in
                writer.member("before", losses.before)
                writer.member("after", losses.after)
            }
            writer.key("sets")
            writer.array { writer in
                for row in sets {
                    writer.object { writer in
                        writer.member("coverage", row.coverage.share)
                        writer.member("mean_size", row.meanSize)
                        writer.member("single", row.single)
                        writer.member("enough_pictures", row.isEnough)
                    }
                }
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
