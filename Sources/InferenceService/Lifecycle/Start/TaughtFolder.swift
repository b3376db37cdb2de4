internal import FoundationEssentials
internal import Keeping
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
            if let other = folders.first(where: { Self.overlap(folder, $0) }) {
                throw .invalid("\(folder) and the model folder \(other) must not contain each other")
            }
            return store
        } catch {
            throw CommandError("\(error.message) (taught_dir)", isConfiguration: true)
        }
    }

    /// The store of the kept pictures; nil if none are kept. Reads the files: blocks.
    func keptStore(_ report: KeepingReport) throws(CommandError) -> KeptStore? {
        let folder = settings.keepDirectory
        guard !folder.isEmpty else { return nil }
        do throws(KeepingError) {
            let others = folders + [settings.taughtDirectory].filter { !$0.isEmpty }
            if let other = others.first(where: { Self.overlap(folder, $0) }) {
                throw KeepingError("\(folder) and \(other) must not contain each other")
            }
            return try KeptStore(folder: folder, limits: KeptShelf.Limits(settings)) { report.note($0) }
        } catch {
            throw CommandError("\(error.message) (keep_dir)", isConfiguration: true)
        }
    }

    /// True if one of two folders is in the other.
    private static func overlap(_ one: String, _ other: String) -> Bool {
        let one = real(one), other = real(other)
        return isInside(one, other) || isInside(other, one)
    }

    private static func isInside(_ path: String, _ folder: String) -> Bool {
        path == folder || path.hasPrefix(FilePath.start(inside: folder))
    }

    /// The absolute path, without links if the file exists.
    private static func real(_ path: String) -> String { FilePath.resolved(path) ?? FilePath.absolute(path) }
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
