internal import CSystem
internal import FoundationEssentials
package import Inference
internal import ServicePlanning
package import Settings

/// Runs in the process of a load check: loads the model as the daemon would, runs it, and reports the result.
package enum LoadCheckProgram {
    /// The name of the subcommand; not for users, and not in `ocelli help`.
    package static let command = ChildLoadCheck.command

    /// The height and width of pictures in the argument that requests runs on noise; nil for other arguments.
    package static func probe(_ argument: String) -> (height: Int, width: Int)? {
        guard argument.hasPrefix(ChildLoadCheck.probeFlag) else { return nil }
        let sides = argument.dropFirst(ChildLoadCheck.probeFlag.count).split(separator: "x").compactMap { Int($0) }
        guard sides.count == 2, sides.allSatisfy({ (1...16_384).contains($0) }) else { return nil }
        return (sides[0], sides[1])
    }

    /// The configuration of the load check: everything that the daemon will run, both with the cache of compiled models
    /// and without it, because a file may crash in only one of them.
    package static func configuration(_ settings: Settings) -> ModelConfiguration {
        var configuration = ServicePlan(settings: settings, environment: [:]).modelConfiguration
        // One infer request shows as much as several. The comparison of the streams makes one for each stream.
        configuration.instances = 1
        // The daemon compares the goldens itself: this process guards against crashes, and goldens are ordinary
        // pictures. It reads the calibration itself too.
        configuration.comparesGoldens = false
        configuration.readsCalibration = false
        return configuration
    }

    /// Loads the model at a path and returns the line that reports the result.
    /// - Parameters:
    ///   - probe: the height and width of pictures, to run the model on noise instead of loading it as the daemon
    ///     would.
    ///   - parent: the process that waits for the result; when it ends, this process ends too.
    ///   - seconds: the time after which the kernel ends this process, in case the parent does not.
    ///   - memory: the limit of memory in bytes; 0 for none.
    package static func run(
        _ path: String, parent: Int32, seconds: UInt32, memory: UInt64, probe: (height: Int, width: Int)? = nil,
        settings: Settings
    ) async throws -> String {
        // Best effort: a sandbox may forbid some of the limits, and a load check with fewer limits is better than none.
        // The parent watches the memory of this process. The kernel's limit counts private address space, which models
        // reserve and do not use: it only stops sudden large allocations.
        let (maximum, overflow) = memory.multipliedReportingOverflow(by: ChildLoadCheck.addressSpace)
        _ = csys_confine(parent, seconds, overflow ? 0 : maximum)
        let configuration = configuration(settings)
        var result = LoadCheckResult()
        do throws(InferenceError) {
            if let probe {
                result.probe = try await OutputProbe.run(path: path, height: probe.height, width: probe.width)
            } else {
                let model = try await Model.load(contentsOf: path, configuration: configuration)
                result.compiledAnew = !model.loadReport.isCached
                result.decisions = EngineMemory.decisions
                result.engineComparison = model.loadReport.engineComparison
            }
        } catch {
            result.hadNoThreads = error.isOutOfThreads
            if case .invalidBundle(_, let problems) = error {
                result.problems = problems.map { LoadCheckResult.Problem(path: $0.path, reason: $0.reason) }
            } else {
                result.problems = [LoadCheckResult.Problem(path: "", reason: error.message)]
            }
        }
        return try result.line()
    }
}
