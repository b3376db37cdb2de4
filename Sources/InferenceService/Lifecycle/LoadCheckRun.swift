internal import CSystem
internal import FoundationEssentials
package import Inference
package import Settings

/// The process that is started to try a model: loads it as the daemon would, runs it, and reports the result.
package enum LoadCheckRun {
    /// The name of the subcommand; not for people, and not in `ocelli help`.
    package static let command = ChildLoadCheck.command

    /// The height and width of pictures in the argument that asks for runs on noise; nil where it is another.
    package static func probe(_ argument: String) -> (height: Int, width: Int)? {
        guard argument.hasPrefix(ChildLoadCheck.probeFlag) else { return nil }
        let sides = argument.dropFirst(ChildLoadCheck.probeFlag.count).split(separator: "x").compactMap { Int($0) }
        guard sides.count == 2, sides.allSatisfy({ (1...16_384).contains($0) }) else { return nil }
        return (sides[0], sides[1])
    }

    /// The configuration of the load check: all that the daemon will run, with a cache and without one, since a file
    /// may crash only there.
    package static func configuration(_ settings: Settings) -> ModelConfiguration {
        var configuration = ServicePlan(settings: settings, environment: [:]).modelConfiguration
        // One infer request shows as much as several. The comparison of the streams makes one for each stream.
        configuration.instances = 1
        // The daemon compares them itself: a model may crash this process, but pictures do not differ for it.
        configuration.comparesGoldens = false
        return configuration
    }

    /// Loads the model at a path and returns the line that reports the result.
    /// - Parameters:
    ///   - probe: the height and width of pictures where the model is to be run on noise, instead of loaded as the
    ///     daemon would.
    ///   - parent: the process that wants to know; without it, this one ends.
    ///   - seconds: when the system ends this process, should the parent not see it any more.
    ///   - memory: bytes that it may take; 0 for any.
    package static func run(
        _ path: String, parent: Int32, seconds: UInt32, memory: UInt64, probe: (height: Int, width: Int)? = nil,
        settings: Settings
    ) async throws -> String {
        // Best effort: a sandbox may forbid one or the other, and a load check with fewer bounds is better than none.
        // The parent process watches the memory that this one takes. The limit of the system's own counts address
        // space, which models reserve and do not use: it is only there for what comes all at once.
        let (most, overflow) = memory.multipliedReportingOverflow(by: ChildLoadCheck.addressSpace)
        _ = csys_confine(parent, seconds, overflow ? 0 : most)
        let configuration = configuration(settings)
        var result = LoadCheckResult()
        do throws(InferenceError) {
            if let probe {
                result.probe = try await OutputProbe.run(path: path, height: probe.height, width: probe.width)
            } else {
                let model = try await Model.load(contentsOf: path, configuration: configuration)
                result.compiledAnew = !model.loadReport.isCached
                result.engineComparison = model.loadReport.engineComparison
            }
        } catch {
            result.hadNoThreads = error.isForWantOfThreads
            if case .invalidBundle(_, let problems) = error {
                result.problems = problems.map { LoadCheckResult.Problem(path: $0.path, reason: $0.reason) }
            } else {
                result.problems = [LoadCheckResult.Problem(path: "", reason: error.message)]
            }
        }
        return try result.line()
    }
}
