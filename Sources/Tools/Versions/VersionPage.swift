internal import FoundationEssentials
internal import ImagePipeline
internal import JSON
internal import LoadGenerator
internal import Rollout

/// A single HTML page with the pictures that differ most, each with both answers.
enum VersionPage {
    /// The side of a picture on the page, in pixels.
    private static let side = 320

    /// The page.
    /// - Parameters:
    ///   - pictures: the bytes of the pictures, by name; a missing one is not shown on the page.
    ///   - orientation: how they are stored.
    static func text(
        _ report: VersionReport, _ pictures: [String: [UInt8]], _ orientation: ImageOrientation
    ) -> String {
        var text = """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8"><title>ocelli compare</title>
            <meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
            <style>
            body { font: 15px/1.4 sans-serif; margin: 2em auto; max-width: 60em; color: #222 }
            article { display: flex; gap: 1.5em; border-top: 1px solid #ccc; padding: 1em 0 }
            svg { flex: none; background: #eee } table { border-collapse: collapse } td { padding: 0 1em 0 0; vertical-align: top }
            .old { color: #06c } .new { color: #c40 } th { padding: 0 1em 0 0; text-align: left } h2 { font-size: 1em; margin: 0 0 .5em; overflow-wrap: anywhere }
            </style></head><body>
            <h1>\(ReportPage.escaped(report.task)): <span class="old">\(ReportPage.escaped(report.old))</span> and <span class="new">\(ReportPage.escaped(report.new))</span></h1>
            <ul>\(report.figures.map { "<li>\(ReportPage.escaped($0))</li>" }.joined())</ul>

            """
        for difference in report.comparison.differences {
            text += "<article>" + picture(pictures[difference.id], orientation, difference)
            text +=
                "<div><h2>\(ReportPage.escaped(difference.id))</h2><p>\(ReportPage.escaped(difference.reason))</p><table><tr>"
            text +=
                "<th class=\"old\">\(ReportPage.escaped(report.old))</th><th class=\"new\">\(ReportPage.escaped(report.new))</th>"
            text += "</tr><tr>"
            text +=
                "<td class=\"old\">\(lines(difference.serving))</td><td class=\"new\">\(lines(difference.candidate))</td>"
            text += "</tr></table></div></article>\n"
        }
        return text + "</body></html>\n"
    }

    /// The picture with the boxes and points of both answers.
    private static func picture(
        _ bytes: [UInt8]?, _ orientation: ImageOrientation, _ difference: Comparison.Difference
    ) -> String {
        guard let bytes, let view = try? view(of: bytes, orientation) else { return "" }
        let image = view.png.withUnsafeBytes { raw -> String in
            var text: [UInt8] = []
            Base64.append(raw, to: &text)
            return String(decoding: text, as: UTF8.self)
        }
        return """
            <svg width="\(view.width)" height="\(view.height)"><image width="\(view.width)" height="\(view.height)" \
            href="data:image/png;base64,\(image)"/>\(marks(difference.serving, "#06c", view.scale))\
            \(marks(difference.candidate, "#c40", view.scale))</svg>
            """
    }

    private static func marks(_ answer: ComparableAnswer, _ color: String, _ scale: Double) -> String {
        func scaled(_ value: Double) -> String { "\((value * scale * 10).rounded() / 10)" }
        func dots(_ points: [ComparableAnswer.NamedPoint]) -> String {
            points.compactMap(\.place).map {
                "<circle cx=\"\(scaled($0.x))\" cy=\"\(scaled($0.y))\" r=\"3\" fill=\"\(color)\"/>"
            }.joined()
        }
        switch answer {
        case .boxes(let boxes, _):
            return boxes.map { box in
                "<rect x=\"\(scaled(box.x))\" y=\"\(scaled(box.y))\" width=\"\(scaled(box.width))\" "
                    + "height=\"\(scaled(box.height))\" fill=\"none\" stroke=\"\(color)\" stroke-width=\"2\"/>"
                    + dots(box.points ?? [])
            }.joined()
        case .points(let points, _): return dots(points)
        default: return ""
        }
    }

    /// An answer as text, with a line for each of the first entries.
    private static func lines(_ answer: ComparableAnswer) -> String {
        let words: [String]
        switch answer {
        case .classes(let classes): words = classes.map { "\($0.name) \(TensorComparison.rounded($0.confidence))" }
        case .boxes(let boxes, _): words = boxes.map { "\($0.label) \(TensorComparison.rounded($0.confidence))" }
        case .segments(let segments): words = segments.map { "\($0.label): \($0.mask.area) pixels" }
        case .points(let points, _): words = ["\(points.count { $0.place != nil }) of \(points.count) points"]
        case .embedding(let values): words = ["\(values.count) numbers"]
        case .text(let text):
            words = text.split(separator: "\n").map(String.init)
        case .values(let values): words = values.keys.sorted()
        case .failure(_, let message): words = [message]
        }
        let maximum = 12
        let shown =
            words.prefix(maximum).map(ReportPage.escaped)
            + (words.count > maximum ? ["and \(words.count - maximum) more"] : [])
        return shown.isEmpty ? "nothing" : shown.joined(separator: "<br>")
    }

    /// The displayed picture at a reduced size, and the scale from its pixels to those of the page.
    private static func view(
        of bytes: [UInt8], _ orientation: ImageOrientation
    ) throws -> (png: [UInt8], width: Int, height: Int, scale: Double) {
        let info = try info(of: bytes, orientation)
        let longer = max(info.width, info.height, 1)
        let scale = min(1, Double(side) / Double(longer))
        let width = max(1, Int((Double(info.width) * scale).rounded()))
        let height = max(1, Int((Double(info.height) * scale).rounded()))
        let pixels = try decode(bytes, orientation, width: width, height: height).pixels
        let png = try pixels.withUnsafeBytes {
            try PNGEncoder.encode(width: width, height: height, channels: 3, pixels: $0)
        }
        return (png, width, height, scale)
    }

    /// The picture's size after orientation: width and height are exchanged for orientations from 5 on.
    private static func info(
        of bytes: [UInt8], _ orientation: ImageOrientation
    ) throws -> (width: Int, height: Int) {
        let info = try decode(bytes, orientation, width: 1, height: 1).info
        return info.orientation >= 5 ? (info.height, info.width) : (info.width, info.height)
    }

    private static func decode(
        _ bytes: [UInt8], _ orientation: ImageOrientation, width: Int, height: Int
    ) throws -> (info: ImageInfo, pixels: [UInt8]) {
        let pipeline = try ImagePipeline(
            spec: ImageTensorSpec(width: width, height: height, cropAndScale: .scaleFill))
        var pixels = [UInt8](repeating: 0, count: width * height * 3)
        let outcome = pixels.withUnsafeMutableBytes { target in
            bytes.withUnsafeBytes { source -> Result<ImageInfo, ImageError> in
                Result { () throws(ImageError) in
                    try pipeline.prepare(source, into: target, options: ImageDecodeOptions(orientation: orientation))
                }
            }
        }
        return (try outcome.get(), pixels)
    }
}
