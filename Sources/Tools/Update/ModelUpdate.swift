internal import FoundationEssentials
internal import Glibc
internal import Inference
internal import JSON
internal import ServicePlanning
package import Settings
internal import SystemSupport
internal import WireFormats

/// Trains an updatable Core ML file on the examples of a file: `ocelli update`.
package enum ModelUpdate {
    /// The files and options of one run.
    package struct Request: Sendable {
        package var file = "", data = "", output = ""
        package var epochs: Int?, learningRate: Double?, miniBatch: Int?, seed: Int?
        package var isJSON = false
        package var overwrites = false

        package init() {}

        fileprivate var choices: ModelUpdater.Choices {
            var choices = ModelUpdater.Choices()
            (choices.epochs, choices.learningRate) = (epochs, learningRate)
            (choices.miniBatch, choices.seed) = (miniBatch, seed)
            return choices
        }
    }

    /// The maximum size of the file of examples, and of one line.
    private static let maximumBytes = 4 << 30

    /// Trains, and writes the new file.
    /// - Returns: the text to print.
    package static func run(
        _ request: Request, settings: Settings, progress: @escaping @Sendable (String) -> Void
    ) async throws -> String {
        try checkOutput(request)
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        do {
            progress("loading \(request.file)")
            let updater: ModelUpdater
            do {
                updater = try await ModelUpdater.load(request.file, plan.modelConfiguration)
            } catch {
                throw CommandError("\(request.file): \(error.message)")
            }
            let chosen: ModelUpdater.Plan
            do { chosen = try updater.plan(request.choices) } catch { throw CommandError(error.message) }
            let examples = try await read(request, updater, settings, progress)
            let outcome = try await updater.updated(with: examples, plan: chosen) { epoch, loss in
                progress("epoch \(epoch) of \(chosen.epochs): loss \(loss)")
            }
            progress("")
            try OutputFile.replace(request.output, with: outcome.bytes)
            return request.isJSON ? json(outcome, examples.count, request) : text(outcome, examples.count, request)
        } catch let error as UpdateError {
            throw CommandError(error.message)
        }
    }

    private static func checkOutput(_ request: Request) throws {
        var source = stat(), target = stat()
        if stat(request.output, &target) == 0, stat(request.file, &source) == 0, source.st_dev == target.st_dev,
            source.st_ino == target.st_ino
        {
            throw CommandError(
                "\(request.output) is the file to update, which is never changed: choose another name")
        }
        try OutputFile.check(request.output, overwrites: request.overwrites)
    }

    private static func read(
        _ request: Request, _ updater: ModelUpdater, _ settings: Settings, _ progress: @Sendable (String) -> Void
    ) async throws -> ModelUpdater.Examples {
        let bytes: [UInt8]
        do { bytes = try InputFile.read(request.data, maximum: maximumBytes) } catch {
            throw CommandError("\(request.data) \(error)")
        }
        let folder = FilePath.folder(of: request.data)
        let maximum = settings.maxBody
        let reader = UpdateExampleReader(
            updater,
            pictures: PictureFiles { name in
                do throws(CommandError) {
                    return .success(try InputFile.read(name.hasPrefix("/") ? name : folder + name, maximum: maximum))
                } catch {
                    return .failure(PictureFiles.Unreadable("\(error)"))
                }
            })
        var examples = ModelUpdater.Examples()
        var number = 0
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            guard !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) else { continue }
            do {
                let example = try line.withUnsafeBytes { raw throws(JSONError) in
                    var scanner = JSONScanner(raw)
                    let example = try reader.read(&scanner)
                    try scanner.end()
                    return example
                }
                try await updater.add(example.inputs, example.goal, to: &examples, options: PredictionOptions())
            } catch let error as JSONError {
                throw CommandError("\(request.data), line \(number): \(error.message)")
            } catch let error as UpdateError {
                throw CommandError("\(request.data), line \(number): \(error.message)")
            }
            if number % 50 == 0 { progress("\(examples.count) examples") }
        }
        guard examples.count > 0 else { throw CommandError("\(request.data) has no examples: expected one a line") }
        return examples
    }

    private static func text(_ outcome: ModelUpdater.Outcome, _ count: Int, _ request: Request) -> String {
        let epochs = outcome.losses.enumerated().map { "epoch \($0 + 1): loss \(Units.decimal($1, places: 6))" }
        let end = "wrote \(request.output): \(count) example\(count == 1 ? "" : "s")"
        return (epochs + [end]).joined(separator: "\n")
    }

    private static func json(_ outcome: ModelUpdater.Outcome, _ count: Int, _ request: Request) -> String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("file", request.output)
            writer.member("examples", count)
            writer.key("epochs")
            writer.array { writer in
                for loss in outcome.losses {
                    writer.object { writer in
                        writer.member("loss", loss)
                    }
                }
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
