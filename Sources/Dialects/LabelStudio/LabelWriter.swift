internal import ImagePipeline
internal import Inference
internal import JSON
internal import Observations

/// Writes a model's result for a picture as results of a control tag.
struct LabelWriter {
    let control: LabelConfig.Control
    let names: LabelNames

    /// The least confidence of a choice where a picture may have several.
    private static let likely: Float = 0.5
    /// The width of a point, in percent.
    private static let pointWidth = 0.5

    // MARK: Classes

    func results(of result: ClassificationResult) -> LabelResults {
        var results = LabelResults()
        let found = result.classifications.compactMap { one in names.name(of: one.label).map { ($0, one.confidence) } }
        guard let best = found.first else { return results }
        // Several labels of the model may mean one choice.
        var choices = [best.0], score = best.1
        if control.isMultiple {
            for (name, confidence) in found.dropFirst() where confidence >= Self.likely && !choices.contains(name) {
                choices.append(name)
                score = min(score, confidence)
            }
        }
        results.add(score: score) { writer in
            tag(control.name, control.kind.rawValue, to: &writer)
            writer.key("value")
            writer.object { $0.member("choices", choices) }
        }
        return results
    }

    // MARK: Places

    /// - Parameter isCancelled: true once nobody waits for the answer.
    /// - Throws: `cancelled`, `outOfMemory`.
    func results(of result: ObservationResult, isCancelled: () -> Bool) throws(ImageError) -> LabelResults {
        var results = LabelResults()
        switch (control.kind, result.content) {
        case (.rectangles, .detections(let found)): rectangles(found, result.displayed, &results)
        case (.keyPoints, .keypoints(let points)): add(points, result.displayed, &results)
        case (.keyPoints, .detections(let found)):
            for one in found { add(one.keypoints ?? [], result.displayed, &results) }
        case (.brushes, .mask(let mask, let labels)): try brushes(mask, labels, result.displayed, &results, isCancelled)
        case (.brushes, .detections(let found)): try brushes(found, result.displayed, &results, isCancelled)
        case (.texts, .text(let page)): texts(page, result.displayed, &results)
        default: break
        }
        return results
    }

    private func rectangles(
        _ found: [ObservationResult.Found], _ size: ImageSize, _ results: inout LabelResults
    ) {
        for one in found {
            guard let name = names.name(of: one.label) else { continue }
            let place = one.turned.map { LabelPlace($0, in: size) } ?? LabelPlace(one.box, in: size)
            region(control.name, control.kind.rawValue, size, score: one.confidence, &results) { writer in
                place.write(to: &writer)
                writer.member(control.kind.rawValue, [name])
            }
        }
    }

    private func add(_ points: [ObservationResult.Point], _ size: ImageSize, _ results: inout LabelResults) {
        for point in points {
            guard let place = point.place, let name = names.name(of: point.name) else { continue }
            region(control.name, control.kind.rawValue, size, score: point.confidence ?? 1, &results) { writer in
                LabelPlace.write("x", place.x, of: size.width, to: &writer)
                LabelPlace.write("y", place.y, of: size.height, to: &writer)
                writer.member("width", Self.pointWidth)
                writer.member(control.kind.rawValue, [name])
            }
        }
    }

    /// The text of all lines; with a tag for their places a result for each line, and one for its place.
    private func texts(_ page: PageText, _ size: ImageSize, _ results: inout LabelResults) {
        guard let frame = control.frame else {
            guard !page.lines.isEmpty else { return }
            let score = page.lines.reduce(0) { $0 + $1.confidence } / Float(page.lines.count)
            return results.add(score: score) { writer in
                tag(control.name, control.kind.rawValue, to: &writer)
                writer.key("value")
                writer.object { $0.member("text", [page.text]) }
            }
        }
        for line in page.lines {
            let place = LabelPlace(corners: line.corners, in: size), id = identifier(results)
            region(frame, "rectangle", size, id: id, score: line.confidence, &results) { place.write(to: &$0) }
            region(control.name, control.kind.rawValue, size, id: id, score: nil, &results) { writer in
                place.write(to: &writer)
                writer.member("text", [line.text])
            }
        }
    }

    // MARK: Masks

    /// The maximum number of runs of all masks of a picture: only noise has more, and its other masks are left out.
    private static let maximumRuns = 2_000_000

    private func brushes(
        _ mask: PictureMask, _ labels: [String]?, _ size: ImageSize, _ results: inout LabelResults,
        _ isCancelled: () -> Bool
    ) throws(ImageError) {
        var rows = MaskRows(width: mask.width, height: mask.height, maximum: Self.maximumRuns)
        var line = [UInt8](repeating: 0, count: max(0, mask.width * mask.bytes))
        for row in 0..<mask.height {
            if row & 63 == 0, isCancelled() { throw .cancelled }
            line.withUnsafeMutableBufferPointer { mask.write(row: row, into: $0) }
            rows.add(row: row, line, bytes: mask.bytes)
        }
        for (number, runs) in rows.finished where number != Int(mask.unseen) {
            let label = labels.flatMap { number < $0.count ? $0[number] : nil } ?? "\(number)"
            if let name = names.name(of: label) { brush(name, runs, size, score: 1, &results) }
        }
    }

    private func brushes(
        _ found: [ObservationResult.Found], _ size: ImageSize, _ results: inout LabelResults,
        _ isCancelled: () -> Bool
    ) throws(ImageError) {
        var total = 0
        for one in found {
            guard let name = names.name(of: one.label), let mask = one.mask, mask.area > 0 else { continue }
            if isCancelled() { throw .cancelled }
            guard let runs = MaskRows.runs(of: mask, maximum: Self.maximumRuns - total) else { return }
            total += runs.count
            brush(name, runs, size, score: one.confidence, &results)
        }
    }

    private func brush(
        _ name: String, _ runs: [Int], _ size: ImageSize, score: Float, _ results: inout LabelResults
    ) {
        let bytes = BrushRuns(pixels: size.width * size.height, runs: runs).bytes
        region(control.name, control.kind.rawValue, size, score: score, &results) { writer in
            writer.member("format", "rle")
            writer.key("rle")
            writer.array { writer in for byte in bytes { writer.integer(Int(byte)) } }
            writer.member(control.kind.rawValue, [name])
        }
    }

    // MARK: Results

    private func tag(_ name: String, _ type: String, to writer: inout JSONWriter) {
        writer.member("from_name", name)
        writer.member("to_name", control.image)
        writer.member("type", type)
    }

    /// An id that no other result of the picture has.
    private func identifier(_ results: LabelResults) -> String { "\(control.name)-\(results.count + 1)" }

    /// Adds a result with a place in the picture.
    private func region(
        _ name: String, _ type: String, _ size: ImageSize, id: String? = nil, score: Float?,
        _ results: inout LabelResults, _ value: (inout JSONWriter) -> Void
    ) {
        let id = id ?? identifier(results)
        results.add(score: score) { writer in
            writer.member("original_width", size.width)
            writer.member("original_height", size.height)
            writer.member("image_rotation", 0)
            tag(name, type, to: &writer)
            writer.member("id", id)
            writer.key("value")
            writer.object(value)
        }
    }
}
