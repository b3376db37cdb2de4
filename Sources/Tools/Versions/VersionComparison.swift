internal import FoundationEssentials
internal import ImagePipeline
internal import Inference
internal import JSON
internal import Rollout
internal import ServicePlanning
package import Settings
internal import SystemSupport

/// Compares the answers of two versions of a model to the same pictures: `ocelli compare`. Answers agree by the rule of
/// goldens and rollouts.
package enum VersionComparison {
    /// The models, pictures and options of one run.
    package struct Request: Sendable {
        package var old = ""
        package var new = ""
        package var sources: [String] = []
        /// The task for both, by the name of a route; nil for the first one that both support.
        package var task: String?
        /// The minimum share of answers that must agree, 0 to 1; nil for ``usualShare``.
        package var atLeast: Double?
        /// The maximum ratio of the new model's inference time to that of the old one; nil for any.
        package var latency: Double?
        /// A file for a page with the pictures that differ most.
        package var html: String?
        package var isJSON = false
        /// The orientation of the stored pictures.
        package var orientation = ImageOrientation.apply

        package init() {}
    }

    package static let usualShare = 0.98
    /// The maximum number of bytes of pictures kept for the page.
    private static let maximumKept = 256 << 20

    /// Runs both models and writes the report.
    /// - Returns: whether enough answers agree, within the time, and everything could be compared.
    package static func run(
        _ request: Request, settings: Settings, output: (String) -> Void, complain: (String) -> Void,
        progress: (String) -> Void
    ) async throws -> Bool {
        try PictureSources.check(request.sources)
        if let html = request.html { try OutputFile.checkReport(html, flag: "--html") }
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        var configuration = plan.modelConfiguration
        // A difference from the goldens must be reported here; it must not fail the load.
        configuration.comparesGoldens = false
        progress("loading \(request.old)...")
        let old = try await ModelAtPath.load(ModelAtPath.resolved(request.old, note: complain), configuration)
        progress("loading \(request.new)...")
        let new = try await ModelAtPath.load(ModelAtPath.resolved(request.new, note: complain), configuration)
        let task = try task(request.task, old, new)
        let requiredShare = request.atLeast ?? usualShare
        var report = VersionReport(old: old, new: new, request: request, task: task, requiredShare: requiredShare)
        var pictures = KeptPictures(maximum: request.html == nil ? 0 : maximumKept)
        var sources: PictureSources? = PictureSources(request.sources, shard: nil)
        while let next = sources {
            let (found, rest) = await next.reading()
            if let failure = rest.failure { throw CommandError(failure) }
            sources = rest.isAtEnd ? nil : rest
            for picture in found {
                progress("\(report.comparison.compared + 1): \(picture.name)")
                do throws(CommandError) {
                    let bytes = try await read(picture, maximum: settings.maxBody)
                    await compare(
                        picture.name, EncodedImage(bytes, orientation: request.orientation), old, new, task, &report)
                    pictures.keep(bytes, of: picture.name, among: report.comparison.differences.map(\.id))
                } catch {
                    report.unread += 1
                    complain(PrintableText.text("\(picture.name): \(error.description)"))
                }
            }
        }
        progress("")
        guard report.comparison.compared > 0 else { throw CommandError("there is no picture to compare") }
        output(request.isJSON ? report.json : report.text)
        if let html = request.html {
            try OutputFile.write(Array(VersionPage.text(report, pictures.bytes, request.orientation).utf8), to: html)
        }
        return report.isGood
    }

    /// The task for both models; nil for classification.
    private static func task(_ name: String?, _ old: Model, _ new: Model) throws(CommandError) -> ObservationTask? {
        let classify = "classify"
        func names(_ model: Model) -> [String] {
            (model.isImageClassifier ? [classify] : []) + model.tasks.map(\.rawValue)
        }
        let common = names(old).filter { names(new).contains($0) }
        guard let chosen = name ?? common.first, common.contains(chosen) else {
            let words = [old, new].map {
                names($0).isEmpty ? "nothing about pictures" : names($0).joined(separator: ", ")
            }
            throw CommandError(
                "the models cannot be compared\(name.map { " by \($0)" } ?? ""): the old one answers \(words[0]), the new one \(words[1])"
            )
        }
        return ObservationTask(rawValue: chosen)
    }

    private static func read(_ picture: BulkPicture, maximum: Int) async throws(CommandError) -> [UInt8] {
        try await LoaderThread.run { () -> Result<[UInt8], CommandError> in
            Result { () throws(CommandError) in try picture.read(maximum: maximum) }
        }.get()
    }

    /// Runs one model after the other, so that neither disturbs the other and their times can be compared.
    private static func compare(
        _ name: String, _ image: EncodedImage, _ old: Model, _ new: Model, _ task: ObservationTask?,
        _ report: inout VersionReport
    ) async {
        let one = await old.comparableAnswer(of: image, task: task)
        let other = await new.comparableAnswer(of: image, task: task)
        var found = other.answer
        // If neither can read the picture, the picture is at fault, with the same message.
        if case .image? = one.error, case .image? = other.error { found = one.answer }
        report.comparison.add(id: name, serving: one.answer, candidate: found)
        if one.error == nil, other.error == nil {
            report.comparison.latency.add(one.inference, occupancy: 1, of: .serving)
            report.comparison.latency.add(other.inference, occupancy: 1, of: .candidate)
        }
    }

    /// The bytes of the pictures that differ most.
    private struct KeptPictures {
        let maximum: Int
        private(set) var bytes: [String: [UInt8]] = [:]

        init(maximum: Int) { self.maximum = maximum }

        mutating func keep(_ picture: [UInt8], of name: String, among names: [String]) {
            guard maximum > 0, names.contains(name) else { return }
            bytes = bytes.filter { names.contains($0.key) }
            guard bytes.values.reduce(picture.count, { $0 + $1.count }) <= maximum else { return }
            bytes[name] = picture
        }
    }
}
