internal import ImagePipeline
internal import Inference
internal import JSON
internal import Observations
internal import Settings
internal import SystemSupport
internal import WireFormats

/// The results for a picture as text for people: a line for each find, and further to the right the answers of a
/// pipeline's stages for it.
enum ObservationText {
    /// The lines.
    /// - Parameter model: the name and version of the model.
    static func lines(
        of result: ObservationResult, file: String, by model: String, _ writer: ObservationWriter
    ) throws -> String {
        let size = "\(result.displayed.width)x\(result.displayed.height)"
        var lines = [
            "\(PrintableText.text(file))  (\(result.image.format.rawValue), \(size))  \(PrintableText.text(model))"
        ]
        lines += try Self.lines(of: result.content, writer)
        if let skipped = result.pipeline?.skipped, skipped > 0 {
            lines.append("  (\(skipped) without the stages: a limit, max_crops or the pipeline's own)")
        }
        if case .text(let page) = result.content, page.skipped > 0 { lines.append("  " + skipped(page)) }
        return lines.joined(separator: "\n")
    }

    /// The rows of a text.
    static func rows(of page: PageText) -> [String] {
        page.text.isEmpty
            ? []
            : page.text.split(separator: "\n", omittingEmptySubsequences: false).map { PrintableText.text(String($0)) }
    }

    /// A note on the regions that were not read.
    static func skipped(_ page: PageText) -> String {
        "(\(page.skipped == 1 ? "1 region" : "\(page.skipped) regions") not read: the limit max_lines)"
    }

    private static func lines(of content: ObservationResult.Content, _ writer: ObservationWriter) throws -> [String] {
        switch content {
        case .detections(let found):
            if found.isEmpty { return ["  (nothing reaches the threshold)"] }
            return try found.flatMap { one in
                let place = one.turned.map(place) ?? places([one.box.x, one.box.y, one.box.width, one.box.height])
                return ["\(percent(one.confidence))  \(PrintableText.text(one.label))  \(place)"]
                    + (try one.stages.flatMap { try lines(of: $0) })
            }
        case .mask(let mask, let labels):
            let areas = try mask.areas(), whole = Float(max(1, mask.width * mask.height))
            return writer.segments(of: areas, labels: labels).map { segment in
                "\(percent(Float(segment.area) / whole))  \(PrintableText.text(segment.label))"
            }
        case .keypoints(let points):
            return points.map { point in
                let place = point.place.map { places([$0.x, $0.y]) } ?? "not found"
                return "\(point.confidence.map(percent) ?? "")  \(PrintableText.text(point.name))  \(place)"
            }
        case .embedding(let values):
            return [line(of: values)]
        case .text(let page):
            return page.text.isEmpty ? ["  (no text)"] : rows(of: page).map { "  " + $0 }
        }
    }

    /// The first numbers of an embedding.
    static func line(of values: [Float]) -> String {
        let first = values.prefix(6).map { Units.decimal(Double($0), places: 4) }.joined(separator: " ")
        return "  \(values.count) numbers: \(first)\(values.count > 6 ? " ..." : "")"
    }

    /// The answer of a stage for a find: its name with the first line, the others below.
    private static func lines(of stage: ObservationResult.StageAnswer) throws -> [String] {
        let margin = String(repeating: " ", count: 11), name = PrintableText.text(stage.name) + ": "
        let answer: [String]
        switch stage.outcome {
        case .failed(let error): answer = [LocalClassification.message(of: error)]
        case .absent(let absence): answer = [PrintableText.text(absence.message)]
        case .classes(let result):
            let classes = result.classifications.map { "\(PrintableText.text($0.label)) \(score($0, of: result))" }
            answer = [classes.isEmpty ? "nothing reaches the threshold" : classes.joined(separator: ", ")]
        case .observed(let result, _):
            answer = try lines(of: result.content, ObservationWriter(classes: nil, maximum: nil))
        }
        guard answer.count > 1 else { return answer.map { margin + name + $0.drop { $0 == " " } } }
        return [margin + name.dropLast()] + answer.map { margin + $0 }
    }

    private static func score(_ one: Classification, of result: ClassificationResult) -> String {
        result.areConfidences
            ? String(percent(one.confidence).drop { $0 == " " }) : Units.decimal(Double(one.confidence), places: 3)
    }

    /// The corners of a turned box, and its angle in degrees.
    private static func place(_ turned: TurnedRectangle) -> String {
        let corners = turned.corners.all.map { places([$0.x, $0.y]) }.joined(separator: ", ")
        return "\(corners)  \(Units.decimal(turned.angle * 180 / .pi, places: 1)) degrees"
    }

    private static func places(_ values: [Double]) -> String {
        values.map { Units.decimal($0, places: 1) }.joined(separator: " ")
    }

    private static func percent(_ value: Float) -> String {
        Units.decimal(Double(value) * 100, places: 1).right(8) + "%"
    }
}
