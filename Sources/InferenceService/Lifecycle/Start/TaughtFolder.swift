internal import FoundationEssentials
internal import ServicePlanning
internal import Settings
internal import Synchronization
internal import SystemSupport
internal import Tasks
internal import Teaching

extension ServicePlan {
    /// The store of the taught models; nil if teaching is turned off. Reads the files: blocks.
    func taughtStore() throws(CommandError) -> TaughtStore? {
        guard !settings.taughtDirectory.isEmpty else { return nil }
        let folder = settings.taughtDirectory
        do throws(TeachingError) {
            let store = try TaughtStore(folder: folder, limits: TeachingLimits(settings))
            let own = Self.real(folder)
            for other in folders where Self.isInside(own, Self.real(other)) || Self.isInside(Self.real(other), own) {
                throw .invalid("\(folder) and the model folder \(other) must not contain each other")
            }
            return store
        } catch {
            throw CommandError("\(error.message) (taught_dir)", isConfiguration: true)
        }
    }

    private static func isInside(_ path: String, _ folder: String) -> Bool {
        path == folder || path.hasPrefix(FilePath.start(inside: folder))
    }

    /// The path without links.
    private static func real(_ path: String) -> String { FilePath.resolved(path) ?? path }
}

/// Tells the taught models of loaded models. A relay, because the repository is created before the taught models.
final class TaughtRelay: Sendable {
    private struct Held: Sendable {
        weak var taught: TaughtModels?
    }

    private let held = Mutex(Held())

    func attach(_ taught: TaughtModels?) { held.withLock { $0.taught = taught } }
    func loaded(_ name: String) { held.withLock { $0.taught }?.loaded(name) }
}
