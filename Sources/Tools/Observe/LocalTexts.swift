internal import FoundationEssentials
internal import ImagePipeline
internal import Inference
internal import JSON
internal import ServicePlanning
package import Settings
internal import SystemSupport
internal import WireFormats

/// Embeds texts in this process: `ocelli embed --text`.
package enum LocalTexts {
    /// The number of texts that are embedded together.
    private static let portion = 64

    /// Embeds the texts of a request, and the lines of its file, in order; writes a line or a paragraph for each.
    /// - Returns: the number of texts that failed.
    package static func run(
        _ request: LocalObservation.Request, settings: Settings, output: (String) -> Void, complain: (String) -> Void,
        progress: (String) -> Void
    ) async throws -> Int {
        let texts = try request.texts + (request.lines.map { try lines(of: $0, maximum: settings.maxBody) } ?? [])
        guard !texts.isEmpty else { throw CommandError("\(request.lines ?? "--text"): there is no text") }
        let (name, model) = try await model(request, settings: settings, note: complain, progress: progress)
        var failed = 0
        var vectors: [Float] = [], dimension = 0
        for start in stride(from: 0, to: texts.count, by: portion) {
            let some = Array(texts[start..<min(start + portion, texts.count)])
            if texts.count > portion { progress("\(start + 1) of \(texts.count)") }
            for (text, result) in zip(some, await embeddings(of: some, by: model, maximum: settings.maxText)) {
                progress("")
                do {
                    let embedding = try result.get()
                    vectors += embedding.vector
                    dimension = embedding.vector.count
                    output(line(embedding, of: text, by: name, model, isJSON: request.isJSON))
                } catch {
                    failed += 1
                    let message = LocalClassification.message(of: error)
                    if request.isJSON {
                        output(failure(error, message, of: text))
                    } else {
                        complain("\"\(PrintableText.text(String(text.prefix(60))))\": \(message)")
                    }
                }
            }
        }
        if let path = request.npy {
            // A missing row would shift the others.
            guard failed == 0 else { throw CommandError("\(path) is not written: \(failed) of the texts failed") }
            let array = try vectors.withUnsafeBytes {
                try NPYEncoder.encode($0, shape: [texts.count, dimension], element: .float32)
            }
            try OutputFile.write(array, to: path)
        }
        return failed
    }

    /// The lines of a file, or of standard input ("-"), without their ends.
    private static func lines(of path: String, maximum: Int) throws(CommandError) -> [String] {
        let bytes: [UInt8]
        do throws(CommandError) {
            bytes = try InputFile.read(path, maximum: maximum)
        } catch {
            throw CommandError("\(path): \(error)")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandError("\(path): expected lines of UTF-8, found other bytes")
        }
        var lines = text.withoutByteOrderMark.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
            .map(String.init)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }

    private static func model(
        _ request: LocalObservation.Request, settings: Settings, note: (String) -> Void, progress: (String) -> Void
    ) async throws -> (String, Model) {
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        progress("loading the model...")
        let (name, model) = try await LocalModel.load(
            request.model ?? settings.defaultModel, plan: plan, what: "model that embeds texts", note: note
        ) { $0.embedsTexts }
        progress("")
        if let refusal = model.refusalOfTexts {
            throw CommandError(refusal.message + OtherTask.advice(model, requested: request.model))
        }
        return (name, model)
    }

    /// The vectors of some texts. If they cannot be embedded together, each is embedded by itself.
    private static func embeddings(
        of texts: [String], by model: Model, maximum: Int
    ) async -> [Result<TextEmbedding, any Error>] {
        do {
            if let long = texts.first(where: { $0.utf8.count > maximum }) {
                throw CommandError("has \(long.utf8.count) bytes: the limit is \(maximum) (--max-text)")
            }
            return try await model.textEmbeddings(of: texts).embeddings.map { .success($0) }
        } catch {
            guard texts.count > 1 else { return texts.map { _ in .failure(error) } }
            var results: [Result<TextEmbedding, any Error>] = []
            for text in texts { results += await embeddings(of: [text], by: model, maximum: maximum) }
            return results
        }
    }

    private static func line(
        _ embedding: TextEmbedding, of text: String, by name: String, _ model: Model, isJSON: Bool
    ) -> String {
        let version = model.description.version
        guard isJSON else {
            let cut = embedding.isTruncated ? ", cut off: longer than the model reads" : ""
            return "\"\(PrintableText.text(text))\"  (\(embedding.tokens) tokens\(cut))  "
                + PrintableText.text("\(name) version \(version)") + "\n"
                + ObservationText.line(of: embedding.vector)
        }
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("text", text)
            writer.member("model", name)
            writer.member("version", version)
            TextWriter.write(embedding, .float, to: &writer)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func failure(_ error: any Error, _ message: String, of text: String) -> String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("text", text)
            writer.member("error", message)
            writer.member("code", LocalClassification.code(of: error))
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
