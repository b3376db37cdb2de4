internal import FoundationEssentials
internal import Inference
internal import Repository
internal import ServicePlanning
package import Settings
internal import SystemSupport
internal import Teaching
internal import WireFormats

/// Writes a typed client of a model: `ocelli client`.
package struct ClientGeneration: Sendable {
    /// The model and the options of one run.
    package struct Request: Sendable {
        /// A name, or the path of a bundle or model file.
        package var model = ""
        package var language: String?
        /// The file to write; nil for standard output.
        package var output: String?

        package init() {}
    }

    /// Makes the client.
    /// - Parameter note: called with a sentence about the version, if the path is a folder of versions.
    /// - Returns: the text to print.
    package static func run(
        _ request: Request, settings: Settings, note: (String) -> Void
    ) async throws -> String {
        guard let language = request.language.flatMap(ClientLanguage.init) else {
            throw CommandError("expected --language swift or python", isConfiguration: true)
        }
        if let output = request.output { try check(output) }
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        let model = try await interface(request.model, plan, note: note)
        let text: String
        do throws(ClientError) {
            let client = try ClientPlan(model, language: language)
            text = language == .swift ? SwiftClient(client).text : PythonClient(client).text
        } catch {
            throw CommandError(error.message)
        }
        guard let output = request.output else { return String(text.dropLast()) }
        try OutputFile.replace(output, with: Array(text.utf8))
        return "wrote \(output)"
    }

    private static func interface(
        _ requested: String, _ plan: ServicePlan, note: (String) -> Void
    ) async throws -> ModelInterface {
        let folder = plan.settings.taughtDirectory
        // As in the daemon, a taught model goes before another of its name.
        if !folder.isEmpty, !NamedModel.isPath(requested) {
            do throws(TeachingError) {
                if let taught = try TaughtGlance(requested, in: folder) {
                    return ModelInterface(
                        taught: requested, version: taught.version == 0 ? "" : String(taught.version),
                        labels: taught.labels, embedder: nil)
                }
            } catch {
                throw CommandError(error.message)
            }
        }
        let (name, model) = try await LocalModel.load(requested, plan: plan, what: "model", note: note) { _ in true }
        return ModelInterface(model, name: name)
    }

    /// Refuses to replace a file that is no client: it may be somebody's work.
    private static func check(_ path: String) throws(CommandError) {
        guard FileManager.default.fileExists(atPath: path) else { return }
        let contents: [UInt8]
        do throws(CommandError) { contents = try InputFile.read(path, maximum: 64 << 20) } catch {
            throw CommandError("\(path) \(error)")
        }
        let start = String(decoding: contents.prefix(80), as: UTF8.self)
        guard start.drop(while: { "/# ".contains($0) }).hasPrefix(ClientHeader.mark) else {
            throw CommandError("\(path) exists and is not a client made by `ocelli client`: choose another file")
        }
    }
}
