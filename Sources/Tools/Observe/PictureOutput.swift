internal import Inference
internal import Observations
internal import SystemSupport
internal import WireFormats

/// The pictures that `ocelli detect` and similar commands write: with the results drawn (`--draw`), with some objects
/// covered (`--blur`, `--fill`), and the objects cut out (`--crops`).
struct PictureOutput {
    private let drawn: String?, crops: String?
    private let covers: PictureForm?
    private let edges: [[Int]]
    /// The number of uses of each name: files with the same name from several folders get a number.
    private var names: [String: Int] = [:]

    /// Creates the folders.
    /// - Throws: if options contradict each other, or a label is not one of the model's.
    init(_ request: LocalObservation.Request, model: Model) throws {
        (drawn, crops) = (request.draw, request.crops)
        edges =
            ObservationTask.allCases.lazy.compactMap { model.observationOutput(for: $0)?.edges }.first { !$0.isEmpty }
            ?? []
        var form = PictureForm(isJPEG: false)
        for (labels, cover, flag) in [(request.blur, Drawing.Cover.blur, "--blur"), (request.fill, .fill, "--fill")] {
            guard let labels else { continue }
            let classes = ObservationRequest.classes(in: labels)
            guard !classes.isEmpty else {
                throw CommandError("\(flag): expected labels or numbers, separated by commas")
            }
            guard request.draw != nil else { throw CommandError("\(flag) needs a folder for the pictures: --draw DIR") }
            form.covers.append(.init(classes, cover))
        }
        if !form.covers.isEmpty || crops != nil, !model.tasks.contains(.detect) {
            throw CommandError("--blur, --fill and --crops are for models that give boxes: \(model.abilities)")
        }
        if let refusal = form.refusal(of: model) { throw CommandError(refusal.message) }
        covers = form.covers.isEmpty ? nil : form
        for folder in [drawn, crops].compactMap({ $0 }) { try OutputFile.makeFolder(folder) }
    }

    /// The request whose result contains everything that is written.
    func request(_ request: ObservationRequest) -> ObservationRequest {
        if let covers { return covers.request(request) }
        var request = request
        request.keepsPicture = crops != nil
        return request
    }

    /// Writes the pictures for a file.
    mutating func write(_ result: ObservationResult, of bytes: [UInt8], file: String) throws {
        let base = file == "-" ? "stdin" : FilePath.name(of: file) ?? "picture"
        names[base, default: 0] += 1
        let number = names[base] ?? 1
        let name = base + (number == 1 ? "" : "-\(number)")
        if let folder = drawn {
            if var covers {
                let ending = name.split(separator: ".").last?.lowercased()
                covers.isJPEG = number == 1 && (ending == "jpg" || ending == "jpeg")
                let path = folder + "/" + name + (covers.isJPEG ? "" : ".png")
                try refuse(path, as: file)
                try OutputFile.write(try covers.bytes(of: result, edges: edges) { false }, to: path)
            } else {
                try OutputFile.write(
                    try Drawing.png(of: bytes, with: result, edges: edges), to: folder + "/" + name + ".png")
            }
        }
        guard let folder = crops, let picture = result.picture, case .detections(let found) = result.content else {
            return
        }
        let drawing = try Drawing(picture) { false }
        for (place, one) in found.enumerated() {
            let label = String(one.label.map { $0.isLetter || $0.isNumber ? $0 : "_" }.prefix(60))
            guard let png = try drawing.cut(one.box) else { continue }
            try OutputFile.write(png, to: "\(folder)/\(name)-\(place)-\(label).png")
        }
    }

    /// Throws if the output file is the input picture.
    private func refuse(_ path: String, as file: String) throws {
        // A file that does not exist yet cannot be the input.
        guard file != "-", let there = FilePath.resolved(path), there == FilePath.resolved(file) else { return }
        throw CommandError("\(path) is the picture itself: give another folder (--draw)")
    }
}
