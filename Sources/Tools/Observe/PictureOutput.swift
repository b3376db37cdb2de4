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
    private var names = PictureNames()
    /// The pictures of the run, without links: none of them is overwritten.
    private let pictures: Set<String>

    /// Creates the folders.
    /// - Throws: if options contradict each other, or a label is not one of the model's.
    init(_ request: LocalObservation.Request, model: Model) throws {
        (drawn, crops) = (request.draw, request.crops)
        pictures = Set(request.files.compactMap { $0 == "-" ? nil : FilePath.resolved($0) })
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
        if let refusal = form.refusal(of: model) { throw CommandError("--\(refusal.name): \(refusal.reason)") }
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
        let name = names.next(for: file)
        if let folder = drawn {
            if var covers {
                let ending = name.split(separator: ".").last?.lowercased()
                covers.isJPEG = ending == "jpg" || ending == "jpeg"
                let path = folder + "/" + name + (covers.isJPEG ? "" : ".png")
                try refuse(path)
                try OutputFile.write(try covers.bytes(of: result, edges: edges) { false }, to: path)
            } else {
                let path = folder + "/" + name + ".png"
                try refuse(path)
                try OutputFile.write(try Drawing.png(of: bytes, with: result, edges: edges), to: path)
            }
        }
        guard let folder = crops, let picture = result.picture, case .detections(let found) = result.content else {
            return
        }
        let drawing = try Drawing(picture) { false }
        for (place, one) in found.enumerated() {
            let label = String(one.label.map { $0.isLetter || $0.isNumber ? $0 : "_" }.prefix(60))
            guard let png = try drawing.cut(one.box) else { continue }
            let path = "\(folder)/\(name)-\(place)-\(label).png"
            try refuse(path)
            try OutputFile.write(png, to: path)
        }
    }

    /// Throws if the output file is one of the pictures.
    private func refuse(_ path: String) throws {
        // A file that does not exist yet cannot be one.
        guard let there = FilePath.resolved(path), pictures.contains(there) else { return }
        throw CommandError("\(path) is one of the pictures: give another folder (--draw, --crops)")
    }
}
